"""A Redis that restarts, or hangs right after a commit: no caller gets a false answer."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from urllib.parse import urlsplit

import pytest
from support.pages.api_front import settings_for, started
from support.servers import redis_servers

from jobs.errors import StoreUnavailable
from jobs.service import Operations
from jobs.store.redis_store import RedisStore

REDIS = next(iter(redis_servers.binaries().values()))


@pytest.fixture
def restartable(tmp_path):
    """A running server, and a function that restarts it at the same address."""
    with contextlib.ExitStack() as stack:
        first = stack.enter_context(redis_servers.start(REDIS, tmp_path / "redis", tcp=True))
        port = urlsplit(first.url).port

        def restart() -> None:
            first.kill()
            stack.enter_context(redis_servers.start(REDIS, tmp_path / "redis", port=port))

        yield first, restart


class Falls(RedisStore):
    """A store whose server dies as soon as it has answered a commit."""

    server: redis_servers.RedisServer

    async def create(self, *args, **more):
        existing = await super().create(*args, **more)
        self.server.kill()
        return existing

    async def commit(self, *args, **more):
        committed = await super().commit(*args, **more)
        self.server.kill()
        return committed


def fall(front, server):
    """Make the server die after the next commit."""
    store = Falls(front.services.store.redis)
    store.server = server
    operations = Operations(store, lambda *_: None)
    front.app.state.services = dataclasses.replace(
        front.services, store=store, operations=operations
    )


@pytest.mark.parametrize("what", ["submit", "review", "reject", "cancel"])
async def test_a_commit_is_reported_although_redis_died_afterwards(restartable, tmp_path, what):
    server, restart = restartable
    async with started(settings_for(server.url, tmp_path)) as front:
        job_id = await front.paused()
        before = front.services
        fall(front, server)
        path, body, status = {
            "submit": ("/jobs", {"task": "one more"}, "queued"),
            "review": (f"/jobs/{job_id}/review", {"action": "approve"}, "queued"),
            "reject": (f"/jobs/{job_id}/review", {"action": "reject", "feedback": "no"}, "failed"),
            "cancel": (f"/jobs/{job_id}/cancel", None, "cancelled"),
        }[what]
        answer = await front.client.post(path, json=body)
        assert answer.status_code == 202, answer.text
        receipt = answer.json()
        assert receipt["status"] == status

        await asyncio.to_thread(restart)
        front.app.state.services = before
        job = await front.job(receipt["id"])
        assert (job["status"], receipt["links"]) == (status, job["links"])


class Cut(RedisStore):
    """A store whose connection breaks after a write, before its answer."""

    async def create(self, *args, **more):
        await super().create(*args, **more)
        raise StoreUnavailable("cut")

    async def commit(self, *args, **more):
        await super().commit(*args, **more)
        raise StoreUnavailable("cut")


async def test_an_unknown_outcome_is_reported_and_the_same_key_returns_the_job(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        stopped = await front.submit()
        before, store = front.services, Cut(front.services.store.redis)
        operations = Operations(store, lambda *_: None)
        front.app.state.services = dataclasses.replace(before, operations=operations)
        headers = {"Idempotency-Key": "once"}
        lost = await front.client.post("/jobs", json={"task": "a"}, headers=headers)
        cut = await front.client.post(f"/jobs/{stopped}/cancel")
        for answer in (lost, cut):
            assert (answer.status_code, answer.json()["type"]) == (503, "/problems/outcome-unknown")
            assert answer.json()["retryable"] is True
        assert "with the same Idempotency-Key" in lost.json()["detail"]
        assert "no Idempotency-Key" in cut.json()["detail"]

        front.app.state.services = before
        again = await front.client.post("/jobs", json={"task": "a"}, headers=headers)
        assert (again.status_code, again.headers["idempotency-replayed"]) == (202, "true")
        assert (await front.client.get("/jobs")).json()["total"] == 2
        assert (await front.client.post(f"/jobs/{stopped}/cancel")).status_code == 200
