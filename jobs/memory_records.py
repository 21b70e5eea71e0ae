"""MemoryRecords: a job's record, and what is kept with it, in dictionaries. Each method is one step
of one event loop, hence atomic. What is kept goes through the codec.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from jobs.blob_index import MemoryBlobIndex
from jobs.codec import read_record, record_fields
from jobs.counting import paid
from jobs.errors import Contended, StaleEpoch
from jobs.lifecycle import Change
from jobs.memory_budgets import MemoryBudgets
from jobs.memory_charges import MemoryCharges
from jobs.memory_events import MemoryEvents
from jobs.memory_talks import MemoryTalks
from jobs.moves import IN_LINE_MS
from jobs.numbers import MemoryNumbers, day_of
from jobs.outbox import MemoryOutbox
from jobs.record import JobRecord, Status
from jobs.store import Charge, Existing, Held, Idempotency, Loaded, Turn, Writes


class MemoryRecords:
    """The half of the Store that is about one job; `clock` gives its time in ms."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.blobs = MemoryBlobIndex(clock)
        self.budgets = MemoryBudgets(clock, lambda job_id, epoch: self.owns(Held(job_id, epoch)))
        self.numbers = MemoryNumbers()
        self.outbox = MemoryOutbox(clock)
        self._charges = MemoryCharges(self.budgets)
        self._events = MemoryEvents(clock)
        self._talks = MemoryTalks()
        self._records: dict[str, JobRecord] = {}
        self._journals: dict[str, dict[str, bytes]] = defaultdict(dict)
        self._changes = Counter[str]()
        self._once: dict[tuple[str, str], Existing] = {}

    async def now(self) -> int:
        """See Store."""
        return self._clock()

    async def create(
        self,
        change: Change,
        idempotency: Idempotency | None = None,
        blobs: Sequence[str] = (),
        parent: JobRecord | None = None,
    ) -> Existing | None:
        """See Store."""
        record = replace(change.after, once=idempotency.key if idempotency else "")
        if idempotency and (existing := await self.known(record.tenant, idempotency.key)):
            return existing
        if record.id in self._records:
            raise Contended(f"job {record.id} exists already")
        if parent is not None:
            self._inherit(record, parent)
        if idempotency:
            existing = Existing(record.id, idempotency.body_digest)
            self._once[record.tenant, idempotency.key] = existing
        if not self._talks.enter(record):
            record = replace(record, due_at=record.created_at + IN_LINE_MS)
        self._keep(record)
        self.blobs.refer(record.id, blobs)
        self._events.append(record.id, change.events)
        return None

    async def known(self, tenant: str, key: str) -> Existing | None:
        """See Store."""
        return self._once.get((tenant, key))

    async def load(self, job_id: str) -> Loaded | None:
        """See Store."""
        return Loaded(found, self._clock()) if (found := self._records.get(job_id)) else None

    async def commit(
        self, before: JobRecord, change: Change, *, turn: Turn | None = None, first: bool = False
    ) -> bool:
        """See Store."""
        after = change.after
        stands = self._records.get(after.id)
        if stands is None or _decided_by(stands) != _decided_by(before):
            return False
        if change.paid_calls not in (None, len(self._charges.of(after.id))):
            return False
        if first and self._talks.head(after.tenant, after.conversation_id) != after.id:
            return False
        # what fenced writes have changed since `before` was read stays
        stays = replace(after, workspace=stands.workspace)
        self._keep(replace(stays, graph=stands.graph) if after.graph == before.graph else stays)
        self._events.append(after.id, change.events)
        self.outbox.add(change.deliveries)
        self.numbers.add(after.tenant, day_of(after.updated_at), change.counts)
        if turn is not None:
            self._talks.told(after, turn)
        if after.status.final:
            self._advance(after)
        if after.over:
            self._journals.pop(after.id, None)
        if after.status is Status.CANCELLED:
            self._events.stop(after.id)
        return True

    async def write(self, job_id: str, epoch: int, writes: Writes) -> None:
        """See Store. Raises ValueError for Redis commands."""
        if writes.commands:
            raise ValueError("a MemoryStore has no Redis to run commands in")
        await self.charge(job_id, writes.charges)
        if not await self.owns(Held(job_id, epoch)):
            raise StaleEpoch(job_id, epoch)
        record = self._records[job_id]
        if writes.workspace is not None:
            record = replace(record, workspace=writes.workspace or None)
        if writes.graph is not None:
            record = replace(record, graph=writes.graph)
        if writes.progress and writes.journal:
            record = replace(record, progress_epoch=epoch)
        self._records[job_id] = record
        self.blobs.refer(job_id, writes.blobs)
        self._journals[job_id].update(writes.journal)
        self._events.append(job_id, writes.events, epoch)

    async def owns(self, held: Held) -> bool:
        """See Store."""
        record = self._records.get(held.job_id)
        return record is not None and record.status is Status.RUNNING and record.epoch == held.epoch

    async def charge(self, job_id: str, charges: Sequence[Charge]) -> None:
        """See Store."""
        if (record := self._records.get(job_id)) is None:
            return
        new = self._charges.post(job_id, charges)
        if record.status.final:
            self.numbers.add(record.tenant, day_of(self._clock()), paid(new))

    async def charges(self, job_id: str) -> Sequence[Charge]:
        """See Store."""
        return self._charges.of(job_id)

    async def journal(self, job_id: str) -> Mapping[str, bytes]:
        """See Store."""
        return dict(self._journals[job_id])

    async def remove(self, record: JobRecord) -> bool:
        """See Store."""
        stands = self._records.get(record.id)
        if stands is None or stands.version != record.version:
            return False
        self.blobs.let_go(record.id)
        self._events.forget(record.id)
        self._charges.forget(record.id)
        self._records.pop(record.id, None)
        self._once.pop((record.tenant, record.once), None)
        self._changes[record.tenant] += 1
        self._journals.pop(record.id, None)
        self._talks.forget(record)
        return True

    async def renew(self, held: Sequence[Held], lease_ms: int) -> Sequence[Held]:
        """See Store."""
        until = self._clock() + lease_ms
        lost = []
        for lease in held:
            record = self._records.get(lease.job_id)
            if record is None or not record.lease or record.overdue or not await self.owns(lease):
                lost.append(lease)
                continue
            renewed = replace(record.lease, until=until)
            self._records[lease.job_id] = replace(record, lease=renewed, due_at=until)
        return lost

    def _inherit(self, heir: JobRecord, parent: JobRecord) -> None:
        if parent.id not in self._records:
            raise Contended(f"job {parent.id} was removed")
        self.blobs.inherit(heir.id, parent.id)
        if heir.inherits == parent.id:
            self._journals[heir.id].update(self._journals[parent.id])
            self._events.inherit(heir.id, parent.id)

    def _keep(self, record: JobRecord) -> None:
        self._changes[record.tenant] += 1
        self._records[record.id] = read_record(record_fields(record, new=True))

    def _advance(self, ended: JobRecord) -> None:
        if (head_id := self._talks.leave(ended)) is not None:
            head = self._records[head_id]
            if head.status is Status.QUEUED:
                self._records[head.id] = replace(head, due_at=self._clock())


def _decided_by(record: JobRecord) -> tuple[int, int, int]:
    """What must stand still between a decision and its commit."""
    return record.version, record.due_at, record.progress_epoch
