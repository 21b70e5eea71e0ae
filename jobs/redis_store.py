"""RedisStore: jobs in plain Redis (7.0 or newer, or Valkey), each write one script."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Unpack

from redis.asyncio import Redis

from jobs.admission import Load
from jobs.drains import Drains
from jobs.events import Event
from jobs.inquiries import Inquiries
from jobs.record import Status
from jobs.redis_blob_index import RedisBlobIndex
from jobs.redis_budgets import RedisBudgets
from jobs.redis_connection import connect
from jobs.redis_events import RedisEvents
from jobs.redis_listing import RedisListing
from jobs.redis_numbers import RedisNumbers
from jobs.redis_outbox import RedisOutbox
from jobs.redis_records import RedisRecords
from jobs.redis_roster import RedisRoster
from jobs.redis_turns import RedisTurns
from jobs.sought import Sought, SoughtFields
from jobs.spec import Priority
from jobs.store import Page, Turn
from jobs.tokens import RedisTokens

__all__ = ["RedisStore", "connect"]


class RedisStore(RedisRecords):
    """The Store on Redis, which is closed with it: what RedisRecords does for one job, and what
    many have in common."""

    def __init__(self, redis: Redis, replicas: int = 0) -> None:
        super().__init__(redis, replicas)
        self.blobs = RedisBlobIndex(redis)
        self.budgets = RedisBudgets(redis, self._commit)
        self.drains = Drains(redis)
        self.numbers = RedisNumbers(redis)
        self.outbox = RedisOutbox(redis)
        self.turns = RedisTurns(redis)
        self._events = RedisEvents(redis)
        self.tokens = RedisTokens(redis, self._events.listener)
        self.inquiries = Inquiries(redis, self._events.listener)
        self._listing = RedisListing(redis)
        self._roster = RedisRoster(redis)

    async def events(
        self, job_id: str, after: int = 0, limit: int | None = None
    ) -> Sequence[Event]:
        """See Store."""
        return await self._events.after(job_id, after, limit)

    async def wait_events(self, job_id: str, after: int, seconds: float) -> Sequence[Event]:
        """See Store."""
        return await self._events.wait(job_id, after, seconds)

    def stops(self) -> AbstractAsyncContextManager[asyncio.Queue[str]]:
        """See Store."""
        return self._events.stops()

    async def due(self, limit: int) -> Sequence[str]:
        """See Store."""
        return await self._listing.due(await self.now(), limit)

    async def overdue(self, limit: int) -> Sequence[str]:
        """See Store."""
        return await self._listing.overdue(await self.now(), limit)

    async def finished(self, before: int, limit: int) -> Sequence[str]:
        """See Store."""
        return await self._listing.finished(before, limit)

    async def next_in_line(self, tenant: str, conversation_id: str) -> str | None:
        """See Store."""
        return await self._talks.head(tenant, conversation_id)

    async def conversation(self, tenant: str, conversation_id: str, limit: int) -> Sequence[Turn]:
        """See Store."""
        return await self._talks.turns(tenant, conversation_id, limit)

    async def page(
        self, tenant: str, *, limit: int, offset: int, **sought: Unpack[SoughtFields]
    ) -> Page:
        """See Store."""
        return await self._listing.page(tenant, Sought(**sought), limit=limit, offset=offset)

    async def changes(self, tenant: str) -> int:
        """See Store."""
        return await self._listing.changes(tenant)

    async def counts(self) -> Mapping[Status, int]:
        """See Store."""
        return await self._listing.counts()

    async def standing(self, tenant: str) -> Mapping[Status, int]:
        """See Store."""
        return await self._listing.standing(tenant)

    async def queue_depth(self) -> Mapping[Priority, int]:
        """See Store."""
        return await self._listing.queue_depth()

    async def load_now(self, tenant: str) -> Load:
        """See Store."""
        return await self._listing.load_now(tenant)

    async def announce(self, worker: str, facts: Mapping[str, Any], seconds: int) -> bool:
        """See Store."""
        return await self._roster.announce(worker, facts, seconds, await self.now())

    async def withdraw(self, worker: str) -> None:
        """See Store."""
        await self._roster.withdraw(worker)

    async def workers(self) -> Sequence[Mapping[str, Any]]:
        """See Store."""
        return await self._roster.workers()

    async def close(self) -> None:
        """See Store."""
        await self._events.close()
        await self.redis.aclose()
