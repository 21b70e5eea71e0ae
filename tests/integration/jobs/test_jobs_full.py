"""A Redis at its maxmemory: leases are kept, workers are heard, and it is freed by them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.jobs.job_examples import RESULT, JobService, job, lease_of, review
from support.servers import redis_servers

from jobs.blobs.directory import DirectoryBlobs
from jobs.errors import StoreUnavailable
from jobs.model.record import Status
from jobs.model.spec import OnExpiry
from jobs.redis import keys
from jobs.redis.keys import JobKeys
from jobs.retention import Retention
from jobs.store import Writes
from jobs.store.blob_index import PinnedBlobs
from jobs.store.redis_store import RedisStore, connect
from worker.background.periodic import remove_forever, sweep_forever

REDIS = next(iter(redis_servers.binaries().values()))


@pytest.fixture
async def own_house(tmp_path) -> AsyncIterator[JobService]:
    """A service with a Redis server that only this test uses."""
    with redis_servers.start(REDIS, tmp_path / "redis") as server:
        store = RedisStore(connect(server.url, seconds=20))
        yield JobService(store)
        await store.close()


@pytest.mark.invariant("J7")
async def test_leases_and_workers_are_kept_although_redis_is_full(own_house: JobService) -> None:
    store = own_house.store
    assert isinstance(store, RedisStore)
    running = await own_house.running()
    used = (await store.redis.info("memory"))["used_memory"]
    await store.redis.config_set("maxmemory", used // 2)
    with pytest.raises(StoreUnavailable, match="maxmemory"):
        await own_house.submit()
    assert await store.renew([lease_of(running)], 3_600_000) == []
    await store.announce("w", {"slots": 1}, 30)
    [worker] = await store.workers()
    assert (worker["id"], worker["slots"]) == ("w", 1)
    renewed = await own_house.record(running.id)
    assert renewed.due_at > running.due_at
    assert await own_house.operations.sweep() == 0


async def test_a_full_redis_frees_itself(own_house: JobService, tmp_path: Path) -> None:
    """The workers' own loops, at maxmemory: a lost lease, an expired review, an old job's bytes."""
    store, blobs = own_house.store, DirectoryBlobs(tmp_path / "blobs")
    assert isinstance(store, RedisStore)
    old = await own_house.running()
    digest = await PinnedBlobs(blobs, store.blobs.pin, lambda _: None).put(b"old")
    checkpoint = ("ZADD", "fettle:checkpoint:" + old.id, 0, ":1")
    await store.write(old.id, old.epoch, Writes(blobs=[digest], commands=[checkpoint]))
    job(await own_house.operations.succeed(lease_of(old), RESULT, "did it"))
    reviewed = await own_house.running(review_expires_seconds=1, on_expiry=OnExpiry.REJECT)
    job(await own_house.operations.pause(lease_of(reviewed), review()))
    dead = await own_house.running()
    past = await store.now() - 1
    await store.redis.hset(JobKeys(dead.id).record, "due_at", past)
    await store.redis.zadd(keys.DUE, {dead.id: past})
    await asyncio.sleep(1.05)  # the shortest allowed expiry of a review
    used = (await store.redis.info("memory"))["used_memory"]
    await store.redis.config_set("maxmemory", used // 2)
    loops = [
        asyncio.create_task(sweep_forever(own_house.operations, 0.05)),
        asyncio.create_task(remove_forever(store, blobs, Retention(-1, -1), 0.05)),
    ]
    file = next(path for path in (tmp_path / "blobs").rglob("*") if path.is_file())
    try:
        async with asyncio.timeout(20):
            while file.exists() or await store.load(
                reviewed.id
            ):  # rejected by the clock, then removed
                await asyncio.sleep(0.02)
    finally:
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)
    swept = await own_house.record(dead.id)
    assert (swept.status, swept.crashes) == (Status.QUEUED, 1)
    assert await store.load(old.id) is None
    assert not await store.redis.exists(checkpoint[1])
