"""The store of a worker: open it, check it, and wait while it does not answer.

Redis trouble of a running job: `Patience` repeats the call. `worker.ledger` keeps the records that
could not be written, and `worker.attempt` releases the job as soon as Redis answers. The errors
are in `jobs.redis.connection`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
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
from worker.metrics import WorkerFigures

AGAIN_SECONDS = 1.0

log = structlog.get_logger("worker.store")


def open_store(settings: WorkerSettings, figures: WorkerFigures) -> RedisStore:
    """Connects on first use."""
    return CountingStore(connect(settings.redis_url.url), settings.redis_replicas, figures)


async def usable(settings: WorkerSettings, store: RedisStore, draining: Callable[[], bool]) -> bool:
    """Wait until Redis answers. A worker that ended instead would have to start again, and a worker
    that runs one job alone would lose the job.

    Returns False if the worker drains first. Raises StoreUnfit, and StoreUnavailable if Redis does
    not answer within FETTLE_PATIENCE_SECONDS.
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
    """Raise StoreUnfit if Redis cannot be used; in production also if it could lose jobs."""
    production = settings.env is Environment.PRODUCTION
    complaints, fatal = (await check_redis(store.redis)).complaints(production=production)
    if fatal:
        raise StoreUnfit("; ".join(complaints))
    for complaint in complaints:
        log.warning("unfit for production", reason=complaint)


RETRY_SECONDS = 0.25

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """The time for which a job's calls of Redis are repeated while Redis does not answer, or is
    full. Afterwards `Attempt` releases the job; see docs/reliability.md, "When Redis is away or
    full"."""

    seconds: float
    """FETTLE_PATIENCE_SECONDS. There is no other limit and no default."""

    async def retry(self, call: Callable[[], Awaitable[T]]) -> T:
        """The result of `call`, which is repeated while it raises StoreUnavailable.

        A failed try may have been applied, so `call` must be safe to repeat. Raises
        StoreUnavailable when the time is over.
        """
        ends = time.monotonic() + self.seconds
        while True:
            try:
                return await call()
            except StoreUnavailable:
                if time.monotonic() >= ends:
                    raise
            await asyncio.sleep(RETRY_SECONDS)


class CountingStore(RedisStore):
    """A store that counts the changes and the payments of jobs.

    Every change and payment passes the store once, also the changes of the sweeper, which ends jobs
    that no attempt could end.
    """

    def __init__(self, redis: Redis, replicas: int, figures: WorkerFigures) -> None:
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
        """See RedisStore. A refused write records its charges by `charge`."""
        await super().write(job_id, epoch, writes)
        self._figures.paid(writes.charges)

    async def charge(self, job_id: str, charges: Sequence[Charge]) -> None:
        """See RedisStore."""
        await super().charge(job_id, charges)
        self._figures.paid(charges)
