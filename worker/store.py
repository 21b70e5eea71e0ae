"""The store of a worker: opening it, checking it, and waiting while it is away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog
from redis.asyncio import Redis

from jobs.errors import StoreUnavailable, StoreUnfit
from jobs.model.record import JobRecord
from jobs.redis.check import check_redis
from jobs.store import Charge, ConversationEntry, Writes
from jobs.store.redis_store import RedisStore, connect
from jobs.transitions.change import Change
from settings.base import Environment
from settings.worker import WorkerSettings
from worker.metrics import Figures

AGAIN_SECONDS = 1.0

log = structlog.get_logger("worker.store")


def open_store(settings: WorkerSettings, figures: Figures) -> RedisStore:
    """Connects on first use."""
    return CountingStore(connect(settings.redis_url.url), settings.redis_replicas, figures)


async def usable(settings: WorkerSettings, store: RedisStore, draining: Callable[[], bool]) -> bool:
    """Wait for a Redis that is away: a worker that ended instead would have to load everything
    again, and the process of an isolated job would be lost with its job.

    False where the worker is to stop first. Raises StoreUnfit, and StoreUnavailable in the end.
    """
    ends = time.monotonic() + settings.patience_seconds
    while not draining():
        try:
            await _refuse_unfit(settings, store)
        except StoreUnavailable as error:
            if time.monotonic() >= ends:
                raise
            log.warning("worker waits for Redis", why=str(error))
        else:
            return True
        await asyncio.sleep(AGAIN_SECONDS)
    return False


async def _refuse_unfit(settings: WorkerSettings, store: RedisStore) -> None:
    """Raise StoreUnfit where Redis cannot be used, in production also where it would lose jobs."""
    production = settings.env is Environment.PRODUCTION
    complaints, fatal = (await check_redis(store.redis)).complaints(production=production)
    if fatal:
        raise StoreUnfit("; ".join(complaints))
    for complaint in complaints:
        log.warning("unfit for production", reason=complaint)


PATIENCE_SECONDS = 30.0
RETRY_SECONDS = 0.25

T = TypeVar("T")


async def retry_while_unavailable(
    call: Callable[[], Awaitable[T]], seconds: float = PATIENCE_SECONDS
) -> T:
    """The answer of `call`, which may be made more than once; raises StoreUnavailable in the end.

    An earlier try may have been applied although its answer was lost: only for writes that are
    fenced and may be repeated.
    """
    ends = time.monotonic() + seconds
    while True:
        try:
            return await call()
        except StoreUnavailable:
            if time.monotonic() >= ends:
                raise
        await asyncio.sleep(RETRY_SECONDS)


class CountingStore(RedisStore):
    """A store that counts what it records: changes of jobs, and payments.

    Every change and payment passes the store once, also the changes of the sweeper, which ends jobs
    that no attempt could end.
    """

    def __init__(self, redis: Redis, replicas: int, figures: Figures) -> None:
        super().__init__(redis, replicas)
        self._figures = figures

    async def commit(
        self,
        before: JobRecord,
        change: Change,
        *,
        entry: ConversationEntry | None = None,
        first: bool = False,
    ) -> bool:
        """See RedisStore."""
        committed = await super().commit(before, change, entry=entry, first=first)
        if committed:
            self._figures.changed(change)
        return committed

    async def write(self, job_id: str, epoch: int, writes: Writes) -> None:
        """See RedisStore. What is refused posts its charges by `charge`."""
        await super().write(job_id, epoch, writes)
        self._figures.paid(writes.charges)

    async def charge(self, job_id: str, charges: Sequence[Charge]) -> None:
        """See RedisStore."""
        await super().charge(job_id, charges)
        self._figures.paid(charges)
