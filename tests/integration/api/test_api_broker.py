"""Data that may be lost is stored separately: it causes no write to the record, and its loss loses
no job.
"""

from __future__ import annotations

import asyncio
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.pages.api_front import settings_for, started
from support.servers import redis_servers

from jobs.model.record import Cause
from jobs.model.spec import Priority
from jobs.queue.hints import hint_list
from jobs.store.redis_store import connect

BINARY = next(iter(redis_servers.binaries().values()))


@pytest.fixture
def broker(tmp_path):
    with redis_servers.start(BINARY, tmp_path / "broker", "--appendonly", "no") as server:
        yield server


@pytest.fixture
def record(tmp_path):
    with redis_servers.start(BINARY, tmp_path / "record") as server:
        yield server


async def test_requests_are_counted_and_hints_are_stored_without_a_write_to_the_record(
    record, broker, tmp_path
):
    settings = settings_for(record.url, tmp_path, broker_url=broker.url, rate_limit="30/hour")
    async with started(settings) as front:
        job_id = await front.submit()
        redis, broker_redis = front.services.store.redis, connect(broker.url)
        written = (await redis.info("persistence"))["aof_current_size"]
        for _ in range(29):
            assert (await front.client.get(f"/jobs/{job_id}")).status_code == 200
        assert (await front.client.get(f"/jobs/{job_id}")).status_code == 429
        assert (await redis.info("persistence"))["aof_current_size"] == written
        assert await redis.keys("*rate*") == []
        assert await broker_redis.keys("*rate*") != []
        async with asyncio.timeout(20):
            while not await broker_redis.llen(hint_list(Priority.NORMAL)):
                await asyncio.sleep(0.02)
        await broker_redis.aclose()


async def test_without_the_broker_jobs_are_accepted_and_read(record, broker, tmp_path):
    settings = settings_for(record.url, tmp_path, broker_url=broker.url, rate_limit="3/hour")
    async with started(settings) as front:
        broker.kill()
        started_at = time.monotonic()
        accepted = [await front.submit() for _ in range(20)]
        for job_id in accepted:
            assert (await front.client.get(f"/jobs/{job_id}")).status_code == 200
        assert time.monotonic() - started_at < 20
        async with asyncio.timeout(20):  # the record alone makes the sweeper look at all jobs
            while len(await front.services.store.due(99)) < len(accepted):
                await asyncio.sleep(0.05)


async def test_the_longest_wait_is_that_of_the_first_job_that_could_run(record, broker, tmp_path):
    settings = settings_for(record.url, tmp_path, broker_url=broker.url)
    async with started(settings) as front:
        assert await longest_waits(front) == {"high": 0, "normal": 0, "low": 0}
        started_at = time.time()
        cancelled = await front.submit(priority="high")
        first = await front.submit()
        last = await front.submit(conversation_id=first)
        waited = await until_waited(front, 1.5)
        assert waited["normal"] <= time.time() - started_at
        assert waited["low"] == 0
        await front.client.post(f"/jobs/{cancelled}/cancel")
        assert await front.services.operations.sweep() == 1, "a reminder moves its `due_at`"
        later_waits = await longest_waits(front)
        assert later_waits["normal"] >= waited["normal"]
        assert later_waits["high"] == 0
        lease = await front.claim(first)
        assert (await longest_waits(front))["normal"] == 0, (
            "the other cannot run before it has ended"
        )
        started_at = time.time()
        await front.services.operations.requeue(lease, "drained", Cause.STOPPING)
        await front.finish(first)
        waited = await until_waited(front, 0)
        assert waited["normal"] <= time.time() - started_at
        await front.finish(last)
        assert (await longest_waits(front))["normal"] == 0
        broker.kill()
        text = (await front.client.get("/metrics")).text
        assert "fettle_redis_up 1.0" in text
        assert "fettle_queue_longest_wait_seconds{" not in text, "nobody knows"


async def longest_waits(front) -> dict[str, float]:
    text = (await front.client.get("/metrics")).text
    return {
        sample.labels["priority"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "fettle_queue_longest_wait_seconds"
    }


async def until_waited(front, seconds: float) -> dict[str, float]:
    """The metrics, as soon as a job of normal priority has waited longer than this."""
    async with asyncio.timeout(20):
        while (waited := await longest_waits(front))["normal"] <= seconds:
            await asyncio.sleep(0.02)
    return waited
