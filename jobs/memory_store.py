"""MemoryStore: the Store in dictionaries, for tests and for a process that needs nothing durable.
Each method is one step of one event loop, hence atomic. What is kept goes through the codec.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from jobs import memory_listing
from jobs.admission import Load
from jobs.blob_index import MemoryBlobIndex
from jobs.codec import read_record, record_fields
from jobs.counting import paid
from jobs.decisions import MemoryDecisions
from jobs.errors import Contended, StaleEpoch
from jobs.events import EVENTS_AT_ONCE, Event
from jobs.lifecycle import Change
from jobs.memory_budgets import MemoryBudgets
from jobs.memory_charges import MemoryCharges
from jobs.memory_events import MemoryEvents
from jobs.memory_roster import MemoryRoster
from jobs.memory_talks import MemoryTalks
from jobs.numbers import MemoryNumbers, day_of
from jobs.outbox import MemoryOutbox
from jobs.record import JobRecord, Status
from jobs.sought import Sought, SoughtFields
from jobs.spec import Priority
from jobs.store import ONCE_SECONDS, Charge, Existing, Held, Idempotency, Loaded, Page, Turn, Writes
from jobs.tokens import MemoryTokens
from jobs.turns import MemoryTurns


def wall_clock() -> int:
    """This machine's time in ms."""
    return time.time_ns() // 1_000_000


class MemoryStore:
    """The Store of one process; `clock` gives its time in ms."""

    def __init__(self, clock: Callable[[], int] = wall_clock) -> None:
        self._clock = clock
        self.blobs = MemoryBlobIndex(clock)
        self.turns = MemoryTurns(clock)
        self.numbers = MemoryNumbers()
        self.budgets = MemoryBudgets(clock, lambda job_id, epoch: self.owns(Held(job_id, epoch)))
        self._charges = MemoryCharges(self.budgets)
        self._records: dict[str, JobRecord] = {}
        self._events = MemoryEvents(clock)
        self.tokens = MemoryTokens()
        self._journals: dict[str, dict[str, bytes]] = defaultdict(dict)
        self.decisions = MemoryDecisions(self._records, self._events.after)
        self.outbox = MemoryOutbox(clock)
        self._talks = MemoryTalks()
        self._changes = Counter[str]()
        self._once: dict[tuple[str, str], tuple[Existing, int]] = {}
        self._roster = MemoryRoster(clock)
        self._stops: set[asyncio.Queue[str]] = set()

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
        record = change.after
        if idempotency and (existing := self._existing(record.tenant, idempotency.key)):
            return existing
        if record.id in self._records:
            raise Contended(f"job {record.id} exists already")
        if parent is not None:
            self._inherit(record, parent)
        if idempotency:
            existing = Existing(record.id, idempotency.body_digest)
            until = self._clock() + ONCE_SECONDS * 1000
            self._once[record.tenant, idempotency.key] = (existing, until)
        self._talks.enter(record)
        self._keep(record)
        self.blobs.refer(record.id, blobs)
        self._events.append(record.id, change.events)
        return None

    async def load(self, job_id: str) -> Loaded | None:
        """See Store."""
        return Loaded(found, self._clock()) if (found := self._records.get(job_id)) else None

    async def commit(
        self, before: JobRecord, change: Change, *, turn: Turn | None = None, first: bool = False
    ) -> bool:
        """See Store."""
        after = change.after
        stands = self._records.get(after.id)
        if stands is None or (stands.version, stands.due_at) != (before.version, before.due_at):
            return False
        if change.paid_calls not in (None, len(self._charges.of(after.id))):
            return False
        if first and self._talks.head(after.tenant, after.conversation_id) != after.id:
            return False
        # what fenced writes have changed since `before` was read stays
        stays = replace(after, workspace=stands.workspace, progress_epoch=stands.progress_epoch)
        self._keep(replace(stays, graph=stands.graph) if after.graph == before.graph else stays)
        self._events.append(after.id, change.events)
        self.outbox.add(change.deliveries)
        self.numbers.add(after.tenant, day_of(after.updated_at), change.counts)
        if turn is not None:
            self._talks.told(after, turn)
        if after.status.final:
            self._advance(after)
        if after.status is Status.CANCELLED:
            for queue in self._stops:
                queue.put_nowait(after.id)
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

    async def events(
        self, job_id: str, after: int = 0, limit: int | None = None
    ) -> Sequence[Event]:
        """See Store."""
        return self._events.after(job_id, after)[:limit]

    async def wait_events(self, job_id: str, after: int, seconds: float) -> Sequence[Event]:
        """See Store."""
        return (await self._events.wait(job_id, after, seconds))[:EVENTS_AT_ONCE]

    @contextlib.asynccontextmanager
    async def stops(self) -> AsyncIterator[asyncio.Queue[str]]:
        """See Store."""
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._stops.add(queue)
        try:
            yield queue
        finally:
            self._stops.discard(queue)

    async def due(self, limit: int) -> Sequence[str]:
        """See Store."""
        return memory_listing.due(self._records.values(), self._clock(), limit)

    async def overdue(self, limit: int) -> Sequence[str]:
        """See Store."""
        return memory_listing.overdue(self._records.values(), self._clock(), limit)

    async def finished(self, before: int, limit: int) -> Sequence[str]:
        """See Store."""
        return memory_listing.finished(self._records.values(), before, limit)

    async def remove(self, record: JobRecord) -> bool:
        """See Store."""
        stands = self._records.get(record.id)
        if stands is None or stands.version != record.version:
            return False
        self.blobs.let_go(record.id)
        self._events.forget(record.id)
        self._charges.forget(record.id)
        self._records.pop(record.id, None)
        self._changes[record.tenant] += 1
        self._journals.pop(record.id, None)
        self._talks.forget(record)
        return True

    async def next_in_line(self, tenant: str, conversation_id: str) -> str | None:
        """See Store."""
        return self._talks.head(tenant, conversation_id)

    async def conversation(self, tenant: str, conversation_id: str, limit: int) -> Sequence[Turn]:
        """See Store."""
        return self._talks.turns(tenant, conversation_id, limit)

    async def page(
        self, tenant: str, *, limit: int, offset: int, **sought: Unpack[SoughtFields]
    ) -> Page:
        """See Store."""
        found = memory_listing.page(
            self._records.values(), tenant, Sought(**sought), limit=limit, offset=offset
        )
        paid = {record.id: await self.charges(record.id) for record in found.records}
        return replace(found, charges=paid)

    async def changes(self, tenant: str) -> int:
        """See Store."""
        return self._changes[tenant]

    async def counts(self) -> Mapping[Status, int]:
        """See Store."""
        return memory_listing.counts(self._records.values())

    async def standing(self, tenant: str) -> Mapping[Status, int]:
        """See Store."""
        return memory_listing.counts(r for r in self._records.values() if r.tenant == tenant)

    async def queue_depth(self) -> Mapping[Priority, int]:
        """See Store."""
        return memory_listing.queue_depth(self._records.values())

    async def load_now(self) -> Load:
        """See Store."""
        return Load(0, 0, sum((await self.queue_depth()).values()))

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

    async def announce(self, worker: str, facts: Mapping[str, Any], seconds: int) -> bool:
        """See Store."""
        return self._roster.announce(worker, facts, seconds)

    async def withdraw(self, worker: str) -> None:
        """See Store."""
        self._roster.withdraw(worker)

    async def workers(self) -> Sequence[Mapping[str, Any]]:
        """See Store."""
        return self._roster.workers()

    async def close(self) -> None:
        """See Store."""

    def _inherit(self, heir: JobRecord, parent: JobRecord) -> None:
        if parent.id not in self._records:
            raise Contended(f"job {parent.id} was removed")
        self.blobs.inherit(heir.id, parent.id)
        if heir.inherits == parent.id:
            self._journals[heir.id].update(self._journals[parent.id])
            self._events.inherit(heir.id, parent.id)

    def _existing(self, tenant: str, key: str) -> Existing | None:
        existing, until = self._once.get((tenant, key), (None, 0))
        return existing if until > self._clock() else None

    def _keep(self, record: JobRecord) -> None:
        self._changes[record.tenant] += 1
        self._records[record.id] = read_record(record_fields(record, new=True))

    def _advance(self, ended: JobRecord) -> None:
        if (head_id := self._talks.leave(ended)) is not None:
            head = self._records[head_id]
            if head.status is Status.QUEUED:
                self._records[head.id] = replace(head, due_at=self._clock())
