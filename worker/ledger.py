"""Ledger: everything an attempt puts on record goes through here, in order, fenced by its epoch.

An event outside a call waits in a buffer and is written with the next write, so that a step of the
graph costs one round trip and not three. Keys of events are deterministic: an event that a crashed
attempt has written is not written again.

Why: docs/decisions/0006-events-ride-with-writes.md
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field

from agents.ports import Charge, Event, Finished
from jobs import store as jobs_store
from jobs.errors import StaleEpoch, StoreFull, StoreUnavailable
from jobs.model.events import NewEvent
from jobs.model.record import GraphFormat
from jobs.redis.connection import RedisCommand
from jobs.store import LeaseRef, Writes
from jobs.store.redis_store import RedisStore
from worker.store import PATIENCE_SECONDS, retry_while_unavailable


@dataclass(slots=True)
class Batch:
    """Writes that go out together."""

    events: list[NewEvent] = field(default_factory=list)
    journal: dict[str, bytes] = field(default_factory=dict)
    charges: list[jobs_store.Charge] = field(default_factory=list)
    commands: list[RedisCommand] = field(default_factory=list)
    blobs: list[str] = field(default_factory=list)
    workspace: str | None = None
    graph: GraphFormat | None = None

    def writes(self) -> Writes:
        """The batch as the store takes it."""
        return Writes(
            events=self.events,
            journal=self.journal,
            charges=self.charges,
            workspace=self.workspace,
            graph=self.graph,
            commands=self.commands,
            blobs=self.blobs,
        )


class Ledger:
    """Implements the ports Journal and Events, and writes checkpoints, for one attempt.

    A caller waits until its write is on disk. Writes that come while another is under way are sent
    together right after it: LangGraph saves a step and its results concurrently, and both cost one
    round trip. Raises jobs.errors.StaleEpoch once the job is no longer this attempt's.

    It waits for a Redis that is away, since what it writes has been paid for. After a write that
    was given up, all later ones fail (jobs.errors.StoreUnavailable): later facts must not be on
    record without earlier ones. `flush_unsent` then writes what it can.
    """

    def __init__(
        self,
        store: RedisStore,
        held: LeaseRef,
        journal: Mapping[str, bytes],
        tokens: int = 0,
        *,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        """`journal` and `tokens` (spent so far) are what earlier attempts left on record.

        `patience` is how long a write waits for a store that is away, in seconds; `accepted_at` is
        when the last accepted write was sent (monotonic seconds).
        """
        self._store = store
        self._patience = patience
        self.held = held
        self.tokens = tokens
        self.unreported = 0
        """The calls of this attempt whose usage the provider did not report."""
        self.accepted_at = float("-inf")
        self._known = dict(journal)
        self._waiting: list[NewEvent] = []
        self._workspace: str | None = None
        self._graph: GraphFormat | None = None
        self._blobs: list[str] = []
        self._open: Batch | None = None
        self._sending: asyncio.Task[None] | None = None
        self._given_up: StoreUnavailable | None = None
        self._unsaid: list[Batch] = []
        self._owed: list[jobs_store.Charge] = []

    async def recall(self, key: str) -> bytes | None:
        """See agents.ports.Journal."""
        return self._known.get(key)

    async def record(self, key: str, finished: Finished) -> None:
        """See agents.ports.Journal."""
        self._known[key] = finished.outcome
        batch = self._batch()
        batch.events.extend(_event(event) for event in finished.events)
        batch.journal[key] = finished.outcome
        batch.workspace = finished.workspace or batch.workspace
        if finished.charge is not None:
            charge = _charge(finished.charge)
            self._count(charge)
            batch.charges.append(charge)
        await self._sent()

    async def paid(self, charge: Charge) -> None:
        """See agents.ports.Journal."""
        paid = _charge(charge)
        self._count(paid)
        try:
            await self._store.charge(self.held.job_id, [paid])
        except StoreUnavailable:
            self._owed.append(paid)  # it was paid: it is recorded with the next write

    def _count(self, charge: jobs_store.Charge) -> None:
        self.tokens += charge.input_tokens + charge.output_tokens
        self.unreported += charge.is_unreported

    async def emit(self, event: Event) -> None:
        """See agents.ports.Events: visible with the next write."""
        self._waiting.append(_event(event))

    def start_from(self, workspace: str | None) -> None:
        """Name the workspace the job starts from; on record with the next write."""
        self._workspace = workspace or ""

    def write_in(self, graph: GraphFormat) -> None:
        """Name the format of the checkpoints from now on; on record with the next write."""
        self._graph = graph

    def refer(self, digests: Iterable[str]) -> None:
        """Keep these bytes as long as the job; on record with the next write."""
        self._blobs.extend(digests)

    async def checkpoint(self, commands: Sequence[RedisCommand]) -> None:
        """Apply the commands of a checkpoint, and whatever waits, in one step."""
        batch = self._batch()
        batch.commands.extend(commands)
        await self._sent()

    async def flush(self) -> None:
        """Put on record what waits."""
        if self._waiting or self._blobs:
            self._batch()
        await self._sent()

    async def settled(self, seconds: float | None = None) -> None:
        """Wait, so long at most, until nothing is under way, however it ends."""
        if self._sending is not None:
            await asyncio.wait({self._sending}, timeout=seconds)

    async def flush_unsent(self) -> None:
        """Write what is not on record yet, in order, before the job is released; where Redis is
        full or the lease is lost, only what was paid. Raises StoreUnavailable.
        """
        try:
            while self._unsaid:
                await self._say(self._unsaid[0])
        except (StoreFull, StaleEpoch):
            self._owed += [charge for batch in self._unsaid for charge in batch.charges]
            self._unsaid.clear()
        if self._owed:
            await self._store.charge(self.held.job_id, self._owed)
            self._owed.clear()

    def _batch(self) -> Batch:
        """The batch that is not under way yet, with every event that waited before it."""
        if self._open is None:
            self._open = Batch()
            self._sending = asyncio.create_task(self._send(self._open, self._sending))
            self._sending.add_done_callback(_looked_at)
        self._open.events.extend(self._waiting)
        self._waiting.clear()
        self._open.blobs.extend(self._blobs)
        self._blobs.clear()
        self._open.charges.extend(self._owed)
        self._owed.clear()
        if self._workspace is not None:
            self._open.workspace, self._workspace = self._workspace, None
        if self._graph is not None:
            self._open.graph, self._graph = self._graph, None
        return self._open

    async def _sent(self) -> None:
        """Wait for the newest batch; giving up the wait does not take the others' writes back."""
        if self._sending is not None:
            await asyncio.shield(self._sending)

    async def _send(self, batch: Batch, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait({before})
        self._open = None
        self._unsaid.append(batch)
        if self._given_up is not None:
            raise self._given_up
        try:
            await retry_while_unavailable(lambda: self._say(batch), self._patience)
        except StoreUnavailable as error:
            self._given_up = error
            raise
        except StaleEpoch:
            self._forget(batch)  # its charges count even so
            raise

    async def _say(self, batch: Batch) -> None:
        begun = time.monotonic()
        await self._store.write(self.held.job_id, self.held.epoch, batch.writes())
        self.accepted_at = begun
        self._forget(batch)

    def _forget(self, batch: Batch) -> None:
        self._unsaid = [each for each in self._unsaid if each is not batch]


CURRENT: ContextVar[Ledger] = ContextVar("ledger")
"""The ledger of the attempt that the running code belongs to.

A checkpoint is written through it. LangGraph's background tasks inherit it, so that the remains of
an old attempt cannot write under the epoch of the job's next attempt in the same process.
"""


def _looked_at(sent: asyncio.Task[None]) -> None:
    """Ignore the result of a write whose caller was cancelled."""
    if not sent.cancelled():
        sent.exception()


def _event(event: Event) -> NewEvent:
    return NewEvent(event.key.key(event.kind), event.kind, event.data)


def _charge(charge: Charge) -> jobs_store.Charge:
    return jobs_store.Charge(**asdict(charge))
