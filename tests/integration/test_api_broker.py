"""What may be lost is kept apart: it costs the record no write, and its loss costs no job."""

from __future__ import annotations

import asyncio
import time

import pytest
import redis_servers
from api_front import settings_for, started

from jobs.hints import list_of
from jobs.redis_store import connect
from jobs.spec import Priority

BINARY = next(iter(redis_servers.binaries().values()))


@pytest.fixture
def broker(tmp_path):
    with redis_servers.start(BINARY, tmp_path / "broker", "--appendonly", "no") as server:
        yield server


@pytest.fixture
def record(tmp_path):
    with redis_servers.start(BINARY, tmp_path / "record") as server:
        yield server


async def test_requests_are_counted_and_hints_kept_without_a_write_to_the_record(
    record, broker, tmp_path
):
    settings = settings_for(record.url, tmp_path, broker_url=broker.url, rate_limit="30/hour")
    async with started(settings) as front:
        job_id = await front.submit()
        redis, other = front.house.store.redis, connect(broker.url)
        written = (await redis.info("persistence"))["aof_current_size"]
        for _ in range(29):
            assert (await front.client.get(f"/jobs/{job_id}")).status_code == 200
        assert (await front.client.get(f"/jobs/{job_id}")).status_code == 429
        assert (await redis.info("persistence"))["aof_current_size"] == written
        assert await redis.keys("*rate*") == []
        assert await other.keys("*rate*") != []
        async with asyncio.timeout(20):
            while not await other.llen(list_of(Priority.NORMAL)):
                await asyncio.sleep(0.02)
        await other.aclose()


async def test_without_the_broker_jobs_are_accepted_and_read(record, broker, tmp_path):
    settings = settings_for(record.url, tmp_path, broker_url=broker.url, rate_limit="3/hour")
    async with started(settings) as front:
        broker.kill()
        begun = time.monotonic()
        accepted = [await front.submit() for _ in range(20)]
        for job_id in accepted:
            assert (await front.client.get(f"/jobs/{job_id}")).status_code == 200
        assert time.monotonic() - begun < 20
        async with asyncio.timeout(20):  # the record alone has them all looked at
            while len(await front.house.store.due(99)) < len(accepted):
                await asyncio.sleep(0.05)


async def test_one_server_may_be_both(record, tmp_path):
    settings = settings_for(record.url, tmp_path, broker_url=record.url, rate_limit="2/hour")
    async with started(settings) as front:
        job_id = await front.submit()
        assert (await front.client.get(f"/jobs/{job_id}")).status_code == 200
        assert (await front.client.get(f"/jobs/{job_id}")).status_code == 429
