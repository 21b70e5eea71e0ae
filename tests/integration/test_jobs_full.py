"""A Redis at its maxmemory: leases are kept and workers are heard, so that nobody seems dead."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import redis_servers
from job_examples import House, held

from jobs import lifecycle
from jobs.change import Change
from jobs.delivery import Delivery
from jobs.errors import StoreUnavailable
from jobs.redis_store import RedisStore, connect

REDIS = shutil.which("redis-server") or next(iter(redis_servers.binaries().values()))


@pytest.fixture
async def own_house(tmp_path) -> AsyncIterator[House]:
    """A house whose Redis belongs to the test."""
    with redis_servers.start(REDIS, tmp_path / "redis") as server:
        store = RedisStore(connect(server.url, seconds=20))
        yield House(store)
        await store.close()


@pytest.mark.invariant("J7")
async def test_leases_and_workers_are_kept_without_room(own_house: House) -> None:
    store = own_house.store
    assert isinstance(store, RedisStore)
    running = await own_house.running()
    used = (await store.redis.info("memory"))["used_memory"]
    await store.redis.config_set("maxmemory", used // 2)
    with pytest.raises(StoreUnavailable, match="maxmemory"):
        await own_house.submit()
    assert await store.renew([held(running)], 3_600_000) == []
    await store.announce("w", {"slots": 1}, 30)
    [worker] = await store.workers()
    assert (worker["id"], worker["slots"]) == ("w", 1)
    renewed = await own_house.record(running.id)
    assert renewed.due_at > running.due_at
    assert await own_house.operations.sweep() == 0


async def test_a_dead_delivery_is_sent_again_without_room(own_house: House) -> None:
    store = own_house.store
    assert isinstance(store, RedisStore)
    record = await own_house.submit()
    change = lifecycle.cancel(record, await store.now(), by="ann")
    assert isinstance(change, Change)
    told = Delivery("d1", "job.finished", record.tenant, record.id, 1, {})
    assert await store.commit(record, replace(change, deliveries=(told,)))
    [taken] = await store.outbox.take(1, 60_000)
    assert await store.outbox.missed(taken, "410", None)
    used = (await store.redis.info("memory"))["used_memory"]
    await store.redis.config_set("maxmemory", used // 2)
    assert await store.outbox.again("d1")
    assert not await store.outbox.again("d1")
    [again] = await store.outbox.take(1, 60_000)
    assert (again.id, again.tries) == ("d1", 1)
