"""RedisStore: jobs in plain Redis, each write one script."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Unpack

from redis.asyncio import Redis

from jobs.model.events import Event
from jobs.model.record import Status
from jobs.model.spec import Priority
from jobs.queue.admission import SystemLoad
from jobs.redis.channels import Tokens, WorkerRpc
from jobs.redis.connection import connect
from jobs.store.blob_index import BlobIndex
from jobs.store.events import Events
from jobs.store.fleet import LeaderLock, WorkerRegistry
from jobs.store.listing import Listing
from jobs.store.outbox import Outbox
from jobs.store.records import Records
from jobs.store.spending import Budgets, DayCounts
from jobs.store.types import ConversationEntry, JobFilter, JobFilterFields, Page

__all__ = ["RedisStore", "connect"]


class RedisStore(Records):
    """Where jobs are kept: Records has the methods for one job, this class those for many. Closes
    the client that it was given. Raises StoreUnavailable when Redis cannot be reached in time.
    """

    def __init__(self, redis: Redis, replicas: int = 0) -> None:
        super().__init__(redis, replicas)
        self.blobs = BlobIndex(redis)
        self.budgets = Budgets(redis, self._commit)
        self.day_counts = DayCounts(redis)
        self.outbox = Outbox(redis)
        self.leader = LeaderLock(redis)
        self.registry = WorkerRegistry(redis)
        self._events = Events(redis)
        self.tokens = Tokens(redis, self._events.listener)
        self.rpc = WorkerRpc(redis, self._events.listener)
        self._listing = Listing(redis)

    async def events(
        self, job_id: str, after: int = 0, limit: int | None = None
    ) -> Sequence[Event]:
        """The events whose number is above `after`; the first `limit` of them."""
        return await self._events.after(job_id, after, limit)

    async def wait_events(self, job_id: str, after: int, seconds: float) -> Sequence[Event]:
        """The next few events above `after`, after up to `seconds`; empty when none came. A reader
        that is far behind gets the rest by further calls."""
        return await self._events.wait(job_id, after, seconds)

    def stops(self) -> AbstractAsyncContextManager[asyncio.Queue[str]]:
        """A queue of ids of jobs that are cancelled from now on: a signal to look, not the truth.
        An empty id says that some may have been missed."""
        return self._events.stops()

    async def due(self, limit: int) -> Sequence[str]:
        """Ids of jobs that are due: they need a hint, or their lease has expired."""
        return await self._listing.due(await self.now(), limit)

    async def overdue(self, limit: int) -> Sequence[str]:
        """Ids of jobs whose review has expired without an event yet."""
        return await self._listing.overdue(await self.now(), limit)

    async def finished(self, before: int, limit: int) -> Sequence[str]:
        """Ids of final jobs that ended before `before` (ms), the oldest first."""
        return await self._listing.finished(before, limit)

    async def next_in_line(self, tenant: str, conversation_id: str) -> str | None:
        """The job at the head of a conversation's line."""
        return await self._conversations.head(tenant, conversation_id)

    async def conversation(
        self, tenant: str, conversation_id: str, limit: int
    ) -> Sequence[ConversationEntry]:
        """The last `limit` finished jobs, newest first."""
        return await self._conversations.entries(tenant, conversation_id, limit)

    async def page(
        self, tenant: str, *, limit: int, offset: int, **wanted: Unpack[JobFilterFields]
    ) -> Page:
        """A tenant's jobs, newest first; `text` is searched for (see
        `jobs.search_terms`); `waits_for`: what waits for this person's decision, oldest first."""
        return await self._listing.page(tenant, JobFilter(**wanted), limit=limit, offset=offset)

    async def changes(self, tenant: str) -> int:
        """How often a tenant's jobs were added, changed or removed: while it is the same, so is a
        page of them, except for costs. Writers of an older release do not count."""
        return await self._listing.changes(tenant)

    async def counts(self) -> Mapping[Status, int]:
        """How many jobs stand in each status, over all tenants."""
        return await self._listing.counts()

    async def standing(self, tenant: str) -> Mapping[Status, int]:
        """How many of a tenant's jobs stand in each status."""
        return await self._listing.standing(tenant)

    async def queue_depth(self) -> Mapping[Priority, int]:
        """How many jobs wait for a worker in each priority, over all tenants. What waits for
        another job of its conversation is left out."""
        return await self._listing.queue_depth()

    async def load_now(self, tenant: str) -> SystemLoad:
        """How full the store is for a tenant."""
        return await self._listing.load_now(tenant)

    async def announce(self, worker: str, facts: Mapping[str, Any], seconds: int) -> bool:
        """Publish what a worker is and can do; it expires after `seconds`. Returns whether the
        worker was asked to drain."""
        return await self.registry.announce(worker, facts, seconds, await self.now())

    async def withdraw(self, worker: str) -> None:
        """Forget a worker that stops."""
        await self.registry.withdraw(worker)

    async def workers(self) -> Sequence[Mapping[str, Any]]:
        """What the workers that were seen lately have announced, with `id` and `seen_at`."""
        return await self.registry.seen()

    async def close(self) -> None:
        """Give back connections."""
        await self._events.close()
        await self.redis.aclose()
