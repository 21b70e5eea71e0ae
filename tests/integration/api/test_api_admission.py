"""Overload: new jobs are refused in time, and all other requests succeed."""

from __future__ import annotations

import asyncio
import re
import resource
import shutil

import pytest
from support.pages.api_front import RESULT, done, settings_for, started
from support.servers import redis_servers

from api.submission import admission
from jobs.store import Charge, Writes

REDIS = shutil.which("redis-server") or next(iter(redis_servers.binaries().values()))


@pytest.fixture
def server(tmp_path):
    with redis_servers.start(REDIS, tmp_path / "redis") as server:
        yield server


@pytest.fixture
def url(server):
    return server.url


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Check at every request how full the deployment is."""
    monkeypatch.setattr(admission, "LOAD_SECONDS", -1.0)


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


async def test_a_keys_daily_budget_accepts_as_many_jobs_as_it_can_finish(url, tmp_path):
    async with started(settings_for(url, tmp_path, key_tokens_per_day=1_000)) as front:
        first = await front.submit()  # the cost of a job is not known yet
        lease = await front.claim(first)
        spent = [Charge("c1", "executor", "groq:x", 200, 100, None)]
        await front.services.store.write(first, lease.epoch, Writes(charges=spent))
        done(await front.services.operations.succeed(lease, RESULT, "added"))
        jobs = [await front.submit() for _ in range(3)]
        await refused(front, 429, "budget-taken")
        answer = await front.client.post("/jobs", json={"task": "one more"})
        assert "1,000 tokens today" in answer.json()["detail"]
        assert "900 tokens, and this job 300 tokens" in answer.json()["detail"]
        assert await front.submit(max_tokens=100)
        async with front.with_key(await front.key("submit")) as other_client:
            assert (await other_client.post("/jobs", json={"task": "fits"})).status_code == 202
        for job_id in jobs[:2]:
            assert (await front.client.post(f"/jobs/{job_id}/cancel")).status_code == 202
        assert await front.submit()


async def test_one_tenants_full_queue_refuses_no_other(url, tmp_path):
    async with started(settings_for(url, tmp_path, admit_queued=2)) as front:
        for _ in range(2):
            await front.submit()
        await refused(front, 429, "queue-full")
        async with front.with_key(await front.key("submit", tenant="small")) as small:
            assert (await small.post("/jobs", json={"task": "fits"})).status_code == 202


async def test_a_job_that_waits_for_another_job_does_not_fill_the_queue(url, tmp_path):
    async with started(settings_for(url, tmp_path, admit_queued=2)) as front:
        paused = await front.paused()
        for _ in range(5):
            await front.submit(conversation_id=paused)
        metrics = (await front.client.get("/metrics")).text
        assert 'fettle_queue_jobs{priority="normal"} 0.0' in metrics
        for _ in range(2):
            await front.submit()
        await refused(front, 429, "queue-full")


async def test_an_accepted_job_is_reported_again_even_if_the_queue_is_full(url, tmp_path):
    async with started(settings_for(url, tmp_path, admit_queued=1)) as front:
        headers = {"Idempotency-Key": "once"}
        first = await front.client.post("/jobs", json={"task": "a"}, headers=headers)
        await refused(front, 429, "queue-full")
        again = await front.client.post("/jobs", json={"task": "a"}, headers=headers)
        assert (again.status_code, again.json()) == (202, first.json())


async def test_a_redis_at_its_limit_still_takes_decisions_and_cancels(url, tmp_path):
    """Writes that free memory may exceed `maxmemory`: Redis 7 allows this."""
    async with started(settings_for(url, tmp_path)) as front:
        redis = front.services.store.redis
        paused, other_job = await front.paused(), await front.submit()
        await redis.config_set("maxmemory", 1)
        await refused(front, 503, "store-full")
        await everything_else_works(front, paused, other_job)
        await redis.config_set("maxmemory", 0)


async def test_at_its_limit_each_route_reports_a_full_redis_or_works(url, tmp_path):
    """A Redis that answers is not reported as unreachable; requests that free memory work."""
    async with started(settings_for(url, tmp_path)) as front:
        client, store = front.client, front.services.store
        done = [await front.submit() for _ in range(2)]
        await front.finish(done[0])
        paused = await front.paused()
        cancelled = (await client.post(f"/jobs/{done[1]}/cancel")).json()["id"]
        key = (await client.post("/keys", json={"name": "k", "scopes": ["read"]})).json()["id"]
        await store.announce("w", {}, 60)
        await store.redis.config_set("maxmemory", 1)
        values = {"job_id": paused, "key_id": key, "worker_id": "w", "review_id": "r1"}
        for route, method in writing(front.app):
            path = re.sub(r"\{(\w+)(:\w+)?\}", lambda m: values.get(m[1], "x"), route)
            answer = await client.request(method, path, json={"task": "t", "name": "n"})
            if answer.status_code >= 500:
                assert answer.json()["type"] == "/problems/store-full", (method, path, answer.text)
        frees = [
            ("POST", "/workers/w/drain", None, 202),
            ("PUT", f"/keys/{key}/limits", {"max_cost_usd_per_day": "1"}, 200),
            ("DELETE", f"/keys/{key}", None, 204),
            ("DELETE", f"/jobs/{done[0]}", None, 204),
            ("DELETE", f"/jobs/{cancelled}", None, 204),
        ]
        for method, path, body, status in frees:
            answer = await client.request(method, path, json=body)
            assert answer.status_code == status, (path, answer.text)
        full = [
            ("/jobs", {"task": "t"}),
            ("/keys", {"name": "k2", "scopes": ["read"]}),
            ("/verifications", {"files": {"a.py": ""}, "checks": {"files": {"t.py": ""}}}),
        ]
        for path, body in full:
            answer = await client.post(path, json=body)
            assert answer.json()["type"] == "/problems/store-full", (path, answer.text)
            assert int(answer.headers["retry-after"]) > 2
        await store.redis.config_set("maxmemory", 0)


async def no_room_for_what_is_appended(server, redis) -> None:
    await redis.config_set("appendfsync", "everysec")
    size = max(file.stat().st_size for file in server.directory.rglob("*.aof"))
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    await redis.set("one", "more")
    async with asyncio.timeout(60):
        while (await redis.info("persistence"))["aof_last_write_status"] == "ok":
            await asyncio.sleep(0.05)


async def a_replica(_, redis) -> None:
    await redis.replicaof("127.0.0.1", 1)


@pytest.mark.parametrize(
    ("refusing", "reason"),
    [
        (no_room_for_what_is_appended, "it cannot write to its disk"),
        (a_replica, "it is a replica"),
    ],
)
async def test_a_redis_that_refuses_writes_is_reported_with_the_reason(
    server, url, tmp_path, refusing, reason
):
    async with started(settings_for(url, tmp_path)) as front:
        client = front.client
        paused = await front.paused()
        values = {"job_id": paused, "worker_id": "w", "review_id": "r1"}
        await refusing(server, front.services.store.redis)
        await refused(front, 503, "store-unavailable")
        for route, method in writing(front.app):
            path = re.sub(r"\{(\w+)(:\w+)?\}", lambda m: values.get(m[1], "x"), route)
            answer = await client.request(method, path, json={"task": "t", "name": "n"})
            if answer.status_code >= 500:
                detail = answer.json()["detail"]
                assert detail == f"Redis refuses writes, {reason}: nothing was written", (
                    path,
                    detail,
                )
        assert (await client.post(f"/jobs/{paused}/cancel")).status_code == 503
        assert (await client.get(f"/jobs/{paused}")).status_code == 200


def writing(app) -> list[tuple[str, str]]:
    """Every route of the API that may write: path and method."""
    paths = app.openapi()["paths"].items()
    reads = ("get", "head", "options")
    return [(path, method.upper()) for path, of in paths for method in of if method not in reads]


async def everything_else_works(front, paused: str, other_job: str) -> None:
    assert (await front.client.get("/jobs")).json()["total"] == 2
    events = await front.client.get(
        f"/jobs/{other_job}/events", headers={"Accept": "application/json"}
    )
    assert events.status_code == 200
    approved = await front.client.post(f"/jobs/{paused}/review", json={"action": "approve"})
    assert approved.status_code == 202, approved.text
    cancelled = await front.client.post(f"/jobs/{other_job}/cancel")
    assert cancelled.status_code == 202, cancelled.text
    assert cancelled.json()["status"] == "cancelled"
