"""Overload: new jobs are refused in time, and everything else goes on."""

from __future__ import annotations

import shutil

import pytest
import redis_servers
from api_front import settings_for, started

from api import admission

REDIS = shutil.which("redis-server") or next(iter(redis_servers.binaries().values()))


@pytest.fixture
def url(tmp_path):
    with redis_servers.start(REDIS, tmp_path / "redis") as server:
        yield server.url


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Looks at every request how full the house is."""
    monkeypatch.setattr(admission, "FRESH_SECONDS", -1.0)


async def refused(front, code: int, name: str) -> None:
    answer = await front.client.post("/jobs", json={"task": "one more"})
    assert answer.status_code == code, answer.text
    assert answer.json()["type"] == f"/problems/{name}"
    assert answer.json()["retryable"] is True
    assert int(answer.headers["retry-after"]) > 0


async def test_a_full_queue_refuses_new_jobs_until_it_moves(url, tmp_path):
    async with started(settings_for(url, tmp_path, admit_queued=2)) as front:
        waiting = [await front.submit() for _ in range(2)]
        await refused(front, 429, "queue-full")
        assert (await front.client.get(f"/jobs/{waiting[0]}")).status_code == 200
        assert (await front.client.post(f"/jobs/{waiting[0]}/cancel")).status_code == 202
        assert (await front.client.post("/jobs", json={"task": "fits"})).status_code == 202
        assert (await front.client.get("/jobs")).json()["total"] == 3


async def test_what_was_accepted_is_told_again_however_full_the_queue_is(url, tmp_path):
    async with started(settings_for(url, tmp_path, admit_queued=1)) as front:
        headers = {"Idempotency-Key": "once"}
        first = await front.client.post("/jobs", json={"task": "a"}, headers=headers)
        await refused(front, 429, "queue-full")
        again = await front.client.post("/jobs", json={"task": "a"}, headers=headers)
        assert (again.status_code, again.json()) == (202, first.json())


async def test_a_nearly_full_redis_refuses_new_jobs_and_nothing_else(url, tmp_path):
    async with started(settings_for(url, tmp_path)) as front:
        redis = front.house.store.redis
        paused, other = await front.paused(), await front.submit()
        used = (await redis.info("memory"))["used_memory"]
        await redis.config_set("maxmemory", int(used / 0.9))
        await refused(front, 503, "store-full")
        await everything_else_works(front, paused, other)
        await redis.config_set("maxmemory", 0)
        assert (await front.client.post("/jobs", json={"task": "fits"})).status_code == 202


async def test_a_redis_at_its_limit_still_takes_decisions_and_cancels(url, tmp_path):
    """What lets go of something is written beyond `maxmemory`: Redis 7 allows it."""
    async with started(settings_for(url, tmp_path)) as front:
        redis = front.house.store.redis
        paused, other = await front.paused(), await front.submit()
        await redis.config_set("maxmemory", 1)
        await refused(front, 503, "store-full")
        await everything_else_works(front, paused, other)
        await redis.config_set("maxmemory", 0)


async def everything_else_works(front, paused: str, other: str) -> None:
    assert (await front.client.get("/jobs")).json()["total"] == 2
    events = await front.client.get(f"/jobs/{other}/events", headers={"Accept": "application/json"})
    assert events.status_code == 200
    approved = await front.client.post(f"/jobs/{paused}/review", json={"action": "approve"})
    assert approved.status_code == 202, approved.text
    cancelled = await front.client.post(f"/jobs/{other}/cancel")
    assert cancelled.status_code == 202, cancelled.text
    assert cancelled.json()["status"] == "cancelled"


async def test_the_reading_is_kept_for_a_second(url, tmp_path, monkeypatch):
    monkeypatch.setattr(admission, "FRESH_SECONDS", 60.0)
    async with started(settings_for(url, tmp_path, admit_queued=1)) as front:
        await front.submit()
        assert (await front.client.post("/jobs", json={"task": "t"})).status_code == 202
