"""MemoryStore: the Store in dictionaries, for tests and for a process that keeps nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Unpack

from jobs import memory_listing
from jobs.admission import Load
from jobs.decisions import MemoryDecisions
from jobs.events import EVENTS_AT_ONCE, Event
from jobs.memory_records import MemoryRecords
from jobs.memory_roster import MemoryRoster
from jobs.record import JobRecord, Status
from jobs.sought import Sought, SoughtFields
from jobs.spec import Priority
from jobs.store import Page, Turn
from jobs.tokens import MemoryTokens
from jobs.turns import MemoryTurns


def wall_clock() -> int:
    """This machine's time in ms."""
    return time.time_ns() // 1_000_000


class MemoryStore(MemoryRecords):
    """The Store of one process: what MemoryRecords does for one job, and what many have in
    common; `clock` gives its time in ms."""

    def __init__(self, clock: Callable[[], int] = wall_clock) -> None:
        super().__init__(clock)
        self.decisions = MemoryDecisions(self._records, self._events.after)
        self.tokens = MemoryTokens()
        self.turns = MemoryTurns(clock)
        self._roster = MemoryRoster(clock)

    async def events(
        self, job_id: str, after: int = 0, limit: int | None = None
    ) -> Sequence[Event]:
        """See Store."""
        return self._events.after(job_id, after)[:limit]

    async def wait_events(self, job_id: str, after: int, seconds: float) -> Sequence[Event]:
        """See Store."""
        return (await self._events.wait(job_id, after, seconds))[:EVENTS_AT_ONCE]

    def stops(self) -> AbstractAsyncContextManager[asyncio.Queue[str]]:
        """See Store."""
        return self._events.stops()

    async def due(self, limit: int) -> Sequence[str]:
        """See Store."""
        return memory_listing.due(self._records.values(), self._clock(), limit)

    async def overdue(self, limit: int) -> Sequence[str]:
        """See Store."""
        return memory_listing.overdue(self._records.values(), self._clock(), limit)

    async def finished(self, before: int, limit: int) -> Sequence[str]:
        """See Store."""
        return memory_listing.finished(self._records.values(), before, limit)

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
        return memory_listing.queue_depth(self._waiting())

    async def load_now(self, tenant: str) -> Load:
        """See Store."""
        return Load(0, 0, sum(record.tenant == tenant for record in self._waiting()))

    def _waiting(self) -> Sequence[JobRecord]:
        """What waits for a worker, and for no other job of its conversation."""
        queued = [each for each in self._records.values() if each.status is Status.QUEUED]
        heads = [self._talks.head(each.tenant, each.conversation_id) for each in queued]
        return [each for each, head in zip(queued, heads, strict=True) if head == each.id]

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
