"""A Redis at its maxmemory: leases are renewed, workers are heard, and their loops free memory."""

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
async def separate_service(tmp_path) -> AsyncIterator[JobService]:
    """A service with a Redis server that only this test uses."""
    with redis_servers.start(REDIS, tmp_path / "redis") as server:
        store = RedisStore(connect(server.url, seconds=20))
        yield JobService(store)
        await store.close()


@pytest.mark.invariant("J7")
async def test_leases_and_workers_survive_a_full_redis(separate_service: JobService) -> None:
    store = separate_service.store
    assert isinstance(store, RedisStore)
    running = await separate_service.running()
    used = (await store.redis.info("memory"))["used_memory"]
    await store.redis.config_set("maxmemory", used // 2)
    with pytest.raises(StoreUnavailable, match="maxmemory"):
        await separate_service.submit()
    assert await store.renew([lease_of(running)], 3_600_000) == []
    await store.announce("w", {"slots": 1}, 30)
    [worker] = await store.workers()
    assert (worker["id"], worker["slots"]) == ("w", 1)
    renewed = await separate_service.record(running.id)
    assert renewed.due_at > running.due_at
    assert await separate_service.operations.sweep() == 0


async def test_a_full_redis_frees_itself(separate_service: JobService, tmp_path: Path) -> None:
    """The workers' own loops at maxmemory: an expired lease, an expired review, an old
    job's bytes.
    """
    store, blobs = separate_service.store, DirectoryBlobs(tmp_path / "blobs")
    assert isinstance(store, RedisStore)
    old = await separate_service.running()
    digest = await PinnedBlobs(blobs, store.blobs.pin, lambda _: None).put(b"old")
    checkpoint = ("ZADD", "fettle:checkpoint:" + old.id, 0, ":1")
    await store.write(old.id, old.epoch, Writes(blobs=[digest], commands=[checkpoint]))
    job(await separate_service.operations.succeed(lease_of(old), RESULT, "did it"))
    reviewed = await separate_service.running(review_expires_seconds=1, on_expiry=OnExpiry.REJECT)
    job(await separate_service.operations.pause(lease_of(reviewed), review()))
    dead = await separate_service.running()
    past = await store.now() - 1
    await store.redis.hset(JobKeys(dead.id).record, "due_at", past)
    await store.redis.zadd(keys.DUE, {dead.id: past})
    await asyncio.sleep(1.05)  # the shortest allowed expiry of a review
    used = (await store.redis.info("memory"))["used_memory"]
    await store.redis.config_set("maxmemory", used // 2)
    loops = [
        asyncio.create_task(sweep_forever(separate_service.operations, 0.05)),
        asyncio.create_task(remove_forever(store, blobs, Retention(-1, -1), 0.05)),
    ]
    file = next(path for path in (tmp_path / "blobs").rglob("*") if path.is_file())
    try:
        async with asyncio.timeout(20):
            # The reviewed job is rejected at its expiry, and then removed.
            while file.exists() or await store.load(reviewed.id):
                await asyncio.sleep(0.02)
    finally:
        for loop in loops:
            loop.cancel()
        await asyncio.gather(*loops, return_exceptions=True)
    swept = await separate_service.record(dead.id)
    assert (swept.status, swept.crashes) == (Status.QUEUED, 1)
    assert await store.load(old.id) is None
    assert not await store.redis.exists(checkpoint[1])
