"""The sweeper continues, whatever error a job's record causes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis
from support.jobs.job_examples import JobService, lease_of

from jobs.errors import StoreUnavailable
from jobs.store import LeaseRef
from jobs.store.fleet import LeaderLock
from jobs.store.redis_store import RedisStore, connect
from worker.background.periodic import sweep_forever


@asynccontextmanager
async def sweeping(service: JobService, seconds: float, **how: float) -> AsyncIterator[None]:
    task = asyncio.create_task(sweep_forever(service.operations, seconds, **how))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class UnreachableStore(RedisStore):
    """A store that can be out of reach, or that answers but refuses writes."""

    reached = True
    answers = False

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self.leader = UnreachableLock(self)

    async def now(self) -> int:
        if not self.reached and not self.answers:
            raise StoreUnavailable("away")
        return await super().now()

    async def renew(self, leases: Sequence[LeaseRef], lease_ms: int) -> Sequence[LeaseRef]:
        if not self.reached:
            raise StoreUnavailable("no writes")
        return await super().renew(leases, lease_ms)


class UnreachableLock(LeaderLock):
    """The leader lock of an UnreachableStore."""

    def __init__(self, store: UnreachableStore) -> None:
        super().__init__(store.redis)
        self._store = store

    async def try_acquire(self, name: str, ms: int) -> bool:
        if not self._store.reached:
            raise StoreUnavailable("no writes")
        return await super().try_acquire(name, ms)


@pytest.mark.invariant("J7")
@pytest.mark.parametrize("answers", [False, True], ids=["away", "takes no writes"])
async def test_leases_are_swept_only_some_time_after_the_store_is_available_again(
    redis_url: str, answers: bool
) -> None:
    """Regardless of the length of the outage, and of its end within the sweeper's interval."""
    store = UnreachableStore(connect(redis_url, seconds=20))
    store.answers = answers
    service = JobService(store, lease_ms=200)
    alive, dead = await service.running(), await service.running()
    store.reached = False
    async with asyncio.timeout(20), sweeping(service, 0.01, grace=1.0):
        await asyncio.sleep(0.3)  # every lease has expired
        store.reached = True
        await asyncio.sleep(0.2)
        assert await store.renew([lease_of(alive)], 60_000) == []
        while (await service.record(dead.id)).crashes == 0:
            await asyncio.sleep(0.01)
    assert (await service.record(alive.id)).crashes == 0
    await store.close()
