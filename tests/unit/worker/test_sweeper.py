"""The sweeper goes on, whatever one job's record does to it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from redis.asyncio import Redis
from structlog.testing import capture_logs
from support.jobs.job_examples import JobService, held

from jobs.errors import StoreUnavailable
from jobs.model.record import JobRecord
from jobs.redis import keys
from jobs.redis.keys import JobKeys
from jobs.store import LeaseRef, Loaded
from jobs.store.fleet import LeaderLock
from jobs.store.redis_store import RedisStore, connect
from settings.worker import WorkerSettings
from worker.background.retention import wanted
from worker.background.sweeper import sweep_forever


@asynccontextmanager
async def sweeping(service: JobService, seconds: float, **how: float) -> AsyncIterator[None]:
    task = asyncio.create_task(sweep_forever(service.operations, seconds, **how))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def now_due(store: RedisStore, record: JobRecord) -> None:
    past = await store.now() - 1
    await store.redis.hset(JobKeys(record.id).record, "due_at", past)
    await store.redis.zadd(keys.DUE, {record.id: past})


class Damaged(RedisStore):
    """A store in which one record cannot be read."""

    unreadable = ""

    async def load(self, job_id: str) -> Loaded | None:
        if job_id == self.unreadable:
            raise ValueError("not a record")
        return await super().load(job_id)


async def test_a_record_that_cannot_be_read_hinders_no_other_job(redis_url: str) -> None:
    store = Damaged(connect(redis_url, seconds=20))
    service = JobService(store)
    bad, good = [await service.submit() for _ in range(2)]
    service.hints.clear()
    store.unreadable = bad.id
    for record in (bad, good):
        await now_due(store, record)
    with pytest.raises(ValueError, match="not a record"):
        await service.operations.sweep()
    assert [job_id for job_id, _ in service.hints] == [good.id]
    async with asyncio.timeout(20), sweeping(service, 0.01):
        for hints in (2, 3):
            await now_due(store, good)
            while len(service.hints) < hints:
                await asyncio.sleep(0.01)
    await store.close()


async def test_one_sweeper_of_the_fleet_has_its_turn_in_each_interval(
    redis_store: RedisStore,
) -> None:
    service, looked = JobService(redis_store), []

    async def sweep() -> int:
        looked.append(time.monotonic())
        return 0

    service.operations.sweep = sweep
    fleet = [asyncio.create_task(sweep_forever(service.operations, 0.2)) for _ in range(5)]
    async with asyncio.timeout(20):
        while len(looked) < 4:
            await asyncio.sleep(0.01)
    for sweeper in fleet:
        sweeper.cancel()
    await asyncio.gather(*fleet, return_exceptions=True)
    assert all(after - before > 0.1 for before, after in itertools.pairwise(looked))


class Away(RedisStore):
    """A store that can be out of reach, or answer without taking writes."""

    reached = True
    answers = False

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self.leader = AwayLock(self)

    async def now(self) -> int:
        if not self.reached and not self.answers:
            raise StoreUnavailable("away")
        return await super().now()

    async def renew(self, held: Sequence[LeaseRef], lease_ms: int) -> Sequence[LeaseRef]:
        if not self.reached:
            raise StoreUnavailable("no writes")
        return await super().renew(held, lease_ms)


class AwayLock(LeaderLock):
    """Its lock."""

    def __init__(self, store: Away) -> None:
        super().__init__(store.redis)
        self._store = store

    async def try_acquire(self, name: str, ms: int) -> bool:
        if not self._store.reached:
            raise StoreUnavailable("no writes")
        return await super().try_acquire(name, ms)


@pytest.mark.invariant("J7")
@pytest.mark.parametrize("answers", [False, True], ids=["away", "takes no writes"])
async def test_leases_are_looked_at_only_some_time_after_the_store_is_back(
    redis_url: str, answers: bool
) -> None:
    """However long it was away, and whenever within the sweeper's pauses it comes back."""
    store = Away(connect(redis_url, seconds=20))
    store.answers = answers
    service = JobService(store, lease_ms=200)
    alive, dead = await service.running(), await service.running()
    store.reached = False
    async with asyncio.timeout(20), sweeping(service, 0.01, grace=1.0):
        await asyncio.sleep(0.3)  # every lease has run out
        store.reached = True
        await asyncio.sleep(0.2)
        assert await store.renew([held(alive)], 60_000) == []
        while (await service.record(dead.id)).crashes == 0:
            await asyncio.sleep(0.01)
    assert (await service.record(alive.id)).crashes == 0
    await store.close()


@pytest.mark.parametrize(
    ("grace", "warned"), [("86400", False), ("3661", False), ("3660", True), ("600", True)]
)
def test_a_grace_period_is_longer_than_any_attempt(
    monkeypatch: pytest.MonkeyPatch, grace: str, warned: bool
) -> None:
    monkeypatch.setenv("FETTLE_BLOB_GRACE_SECONDS", grace)
    with capture_logs() as said:
        assert wanted(WorkerSettings()).grace_ms == int(grace) * 1000
    assert [each["longest_attempt_seconds"] for each in said] == [3660.0] * warned


def test_a_longer_job_needs_a_longer_grace_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FETTLE_MAX_TIMEOUT_SECONDS", "86400")
    with capture_logs() as said:
        wanted(WorkerSettings())
    assert [each["log_level"] for each in said] == ["warning"]
