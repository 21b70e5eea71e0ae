"""The records of one attempt: `AttemptWriter` sends them to Redis, `Ledger` is the journal.

An event outside a call waits in the batch and is written with the next write, so that a step of the
graph costs one round trip and not three. Keys of events are deterministic: an event that a crashed
attempt has written is not written again.

See ADR 6.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from agents.errors import Stopped
from agents.ports import Charge, Event, Finished
from agents.ports.messages import UserMessage
from jobs import store as jobs_store
from jobs.errors import StaleEpoch, StoreFull, StoreUnavailable
from jobs.model.events import NewEvent
from jobs.model.record import Continuation, GraphFormat
from jobs.redis.connection import RedisCommand
from jobs.store import LeaseRef, Writes
from jobs.store.redis_store import RedisStore
from jobs.transitions.messages import ADDED
from worker.store import Patience

FRESH_SECONDS = 0.02
"""An accepted write proves that the attempt has its lease, and a read of the record shows how many
messages there are. Both hold for this time."""


@dataclass(slots=True, eq=False)
class Batch:
    """Writes that Redis applies in one atomic step."""

    events: list[NewEvent] = field(default_factory=list)
    journal: dict[str, bytes] = field(default_factory=dict)
    """Outcomes of finished calls, by `CallKey`."""
    charges: list[jobs_store.Charge] = field(default_factory=list)
    commands: list[RedisCommand] = field(default_factory=list)
    """Redis commands that save a checkpoint."""
    blobs: list[str] = field(default_factory=list)
    """Digests of bytes that are kept as long as the job."""
    workspace: str | None = None
    """The digest of the job's workspace; '' for an empty workspace, None for no change."""
    continues: Continuation | None = None
    """The start of the job on an earlier change of its repository; None for no change."""
    start: str | None = None
    """The digest of the files that the job starts from; None for no change."""
    graph: GraphFormat | None = None
    """The format of the checkpoints from now on; None for no change."""

    @property
    def is_empty(self) -> bool:
        """Whether a write of this batch would change nothing."""
        lists = (self.events, self.journal, self.charges, self.commands, self.blobs)
        values = (self.workspace, self.continues, self.start, self.graph)
        return not any(lists) and all(value is None for value in values)

    def writes(self) -> Writes:
        """The argument of `RedisStore.write`."""
        return Writes(
            events=self.events,
            journal=self.journal,
            charges=self.charges,
            workspace=self.workspace,
            continues=self.continues,
            start=self.start,
            graph=self.graph,
            commands=self.commands,
            blobs=self.blobs,
        )


class AttemptWriter:
    """Writes the records of one attempt, in order and fenced by its epoch.

    Add records to `batch`, then call `send`. While a write is under way, later records collect in
    the next batch and are written together: LangGraph saves a step and its results concurrently,
    and both cost one round trip.

    A write waits for a Redis that does not answer, because its calls have been paid for. After a
    write has failed for good, all later writes fail with the same StoreUnavailable: the record must
    not have later facts without earlier facts. `flush_unsent` then writes the remaining batches.
    """

    def __init__(self, store: RedisStore, lease: LeaseRef, patience: Patience) -> None:
        self.lease = lease
        self.patience = patience
        self.batch = Batch()
        self.accepted_at = float("-inf")
        """The time at which the last accepted write was sent, in monotonic seconds."""
        self._store = store
        self._sending: asyncio.Task[None] | None = None
        self._is_scheduled = False
        self._unsent: list[Batch] = []
        self._failure: StoreUnavailable | None = None

    async def send(self) -> None:
        """Write the batch; return when it is on disk. A cancelled caller does not stop the write.

        Raises jobs.errors.StaleEpoch if the job is no longer this attempt's, and StoreUnavailable.
        """
        if not self._is_scheduled and not self.batch.is_empty:
            self._is_scheduled = True
            self._sending = asyncio.create_task(self._send_after(self._sending))
            self._sending.add_done_callback(_retrieve_exception)
        if self._sending is not None:
            await asyncio.shield(self._sending)

    async def save_checkpoint(self, commands: Sequence[RedisCommand]) -> None:
        """Apply the commands of a checkpoint and the rest of the batch in one step."""
        self.batch.commands.extend(commands)
        await self.send()

    async def charge(self, charge: jobs_store.Charge) -> None:
        """Record a charge at once; if Redis does not answer, record it with the next write."""
        try:
            await self._store.charge(self.lease.job_id, [charge])
        except StoreUnavailable:
            self.batch.charges.append(charge)

    def keep_blobs(self, digests: Iterable[str]) -> None:
        """Keep these bytes as long as the job; recorded with the next write."""
        self.batch.blobs.extend(digests)

    async def settle(self, seconds: float) -> None:
        """Wait at most `seconds` until no write is under way, whether or not the write succeeds."""
        if self._sending is not None:
            await asyncio.wait({self._sending}, timeout=seconds)

    async def flush_unsent(self) -> None:
        """Write the batches that are not on record, in order, before the job is released. If Redis
        is full or the lease is lost, write only their charges. Raises StoreUnavailable.
        """
        charges = self.batch.charges
        try:
            while self._unsent:
                await self._write(self._unsent[0])
        except (StoreFull, StaleEpoch):
            for batch in self._unsent:
                charges.extend(batch.charges)
            self._unsent.clear()
        if charges:
            await self._store.charge(self.lease.job_id, list(charges))
            charges.clear()

    async def _send_after(self, previous: asyncio.Task[None] | None) -> None:
        if previous is not None:
            await asyncio.wait({previous})
        batch, self.batch, self._is_scheduled = self.batch, Batch(), False
        self._unsent.append(batch)
        if self._failure is not None:
            raise self._failure
        try:
            await self.patience.retry(lambda: self._write(batch))
        except StoreUnavailable as error:
            self._failure = error
            raise
        except StaleEpoch:
            self._forget(batch)  # Redis has counted its charges
            raise

    async def _write(self, batch: Batch) -> None:
        started_at = time.monotonic()
        await self._store.write(self.lease.job_id, self.lease.epoch, batch.writes())
        self.accepted_at = started_at
        self._forget(batch)

    def _forget(self, batch: Batch) -> None:
        self._unsent = [unsent for unsent in self._unsent if unsent is not batch]


class Ledger:
    """Implements the ports Journal and Events for one attempt, over its writer."""

    def __init__(
        self, writer: AttemptWriter, entries: Mapping[str, bytes], tokens: int = 0
    ) -> None:
        """`entries` and `tokens` are the journal and the spent tokens of earlier attempts."""
        self.writer = writer
        self.tokens = tokens
        """Input and output tokens that the job has spent."""
        self.unreported = 0
        """The calls of this attempt without a reported usage."""
        self._entries = dict(entries)

    async def recall(self, key: str) -> bytes | None:
        """See agents.ports.Journal."""
        return self._entries.get(key)

    async def record(self, key: str, finished: Finished) -> None:
        """See agents.ports.Journal."""
        self._entries[key] = finished.outcome
        batch = self.writer.batch
        batch.events.extend(map(_new_event, finished.events))
        batch.journal[key] = finished.outcome
        batch.workspace = finished.workspace or batch.workspace
        if finished.charge is not None:
            batch.charges.append(self._count(finished.charge))
        await self.writer.send()

    async def paid(self, charge: Charge) -> None:
        """See agents.ports.Journal."""
        await self.writer.charge(self._count(charge))

    async def emit(self, event: Event) -> None:
        """See agents.ports.Events. Clients see the event after the next write."""
        self.writer.batch.events.append(_new_event(event))

    def _count(self, charge: Charge) -> jobs_store.Charge:
        stored = jobs_store.Charge(**asdict(charge))
        self.tokens += stored.input_tokens + stored.output_tokens
        self.unreported += stored.is_unreported
        return stored


class RecordCheck:
    """Implements the ports Cancel and UserMessages by one read of the record: before each call it
    checks that the attempt has its lease, and counts the messages to the job. The channel of
    stopped jobs is quicker, but a signal may be lost."""

    def __init__(self, store: RedisStore, writer: AttemptWriter) -> None:
        self._store = store
        self._writer = writer
        self._read_at = float("-inf")
        """The time at which the last read of the record began, in monotonic seconds."""
        self._count = 0
        """The number of messages at that time."""
        self._messages: list[UserMessage] = []
        self._last_event = 0
        """The number of the last event that was read for messages."""

    async def check(self) -> None:
        """See agents.ports.Cancel."""
        if not _is_fresh(self._writer.accepted_at):
            await self._read_record()

    async def after(self, number: int) -> Sequence[UserMessage]:
        """See agents.ports.messages.UserMessages."""
        if not _is_fresh(self._read_at):
            await self._read_record()
        if len(self._messages) < self._count:
            await self._load_messages()
        return self._messages[number:]

    async def _read_record(self) -> None:
        lease, read_at = self._writer.lease, time.monotonic()
        count = await self._writer.patience.retry(lambda: self._store.count_messages(lease))
        if count is None:
            raise Stopped(f"job {lease.job_id} is no longer this attempt's")
        self._read_at, self._count = read_at, count

    async def _load_messages(self) -> None:
        job_id, after = self._writer.lease.job_id, self._last_event
        events = await self._writer.patience.retry(lambda: self._store.events(job_id, after))
        for event in events:
            self._last_event = event.seq
            # parallel branches may load the same events
            if event.kind == ADDED and event.data["number"] > len(self._messages):
                data = event.data
                by = data["person"] or data["by"]
                self._messages.append(UserMessage(data["number"], by, data["text"]))


def _is_fresh(moment: float) -> bool:
    return time.monotonic() - moment < FRESH_SECONDS


def _retrieve_exception(task: asyncio.Task[None]) -> None:
    """Keep asyncio from logging the exception of a write after its caller was cancelled."""
    if not task.cancelled():
        task.exception()


def _new_event(event: Event) -> NewEvent:
    return NewEvent(event.key.key(event.kind), event.kind, event.data)
