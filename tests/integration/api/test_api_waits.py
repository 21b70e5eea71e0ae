"""`GET /jobs/{id}?wait=SECONDS`: the answer comes when the job has ended or waits for a person."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from support.pages.api_front import a_run, settings_for, started

from jobs.model.credentials import FIRST_ID
from jobs.model.review import Review, ReviewKind
from jobs.redis.keys import JobKeys

LONG = 60
STREAMS = 500
QUICKLY = 20
"""Seconds, much less than LONG: the test fails if an answer only comes at the end of its time."""


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


@contextlib.asynccontextmanager
async def waiting(front, job_id: str):
    """A request that waits for the job already."""
    async with asyncio.timeout(QUICKLY):
        request = asyncio.create_task(front.client.get(f"/jobs/{job_id}?wait={LONG}"))
        await until_it_listens(front, job_id)
        yield request


async def until_it_listens(front, job_id: str) -> None:
    channel = JobKeys(job_id).channel
    while not dict(await front.services.store.redis.pubsub_numsub(channel))[channel.encode()]:
        await asyncio.sleep(0.01)


async def test_a_wait_ends_with_the_job(front):
    job_id = await front.submit()
    async with waiting(front, job_id) as request:
        lease = await front.claim(job_id)
        await front.add_events(lease, ("run_finished", a_run()))
        await asyncio.sleep(0.2)
        assert not request.done(), "a running job has not paused"
        assert (await front.client.post(f"/jobs/{job_id}/cancel")).status_code == 202
        answer = await request
    assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
    assert answer.json()["runs"], "the answer is the whole job"


async def test_a_wait_ends_with_a_review(front):
    job_id = await front.submit(review=True)
    lease = await front.claim(job_id)
    async with waiting(front, job_id) as request:
        payload = {"plan": [], "answer": "42", "runs": [], "unproven": None}
        review = Review("r1", ReviewKind.REVIEW, payload, await front.services.store.now())
        await front.services.operations.pause(lease, review)
        assert (await request).json()["status"] == "awaiting_review"


async def test_a_paused_job_is_answered_at_once(front):
    ended_id = await front.submit()
    await front.finish(ended_id)
    for job_id in (ended_id, await front.paused()):
        async with asyncio.timeout(QUICKLY):
            answer = await front.client.get(f"/jobs/{job_id}?wait={LONG}")
        assert answer.json()["status"] in ("succeeded", "awaiting_review")


async def test_after_the_time_the_answer_is_the_present_state(front):
    job_id = await front.submit()
    answer = await front.client.get(f"/jobs/{job_id}?wait=0.2")
    assert (answer.status_code, answer.json()["status"]) == (200, "queued")
    for wrong in ("61", "-1", "soon"):
        assert (await front.client.get(f"/jobs/{job_id}?wait={wrong}")).status_code == 422


async def test_a_wait_ends_when_the_server_stops(front):
    async with waiting(front, await front.submit()) as request:
        front.services.closing.set()
        assert (await request).json()["status"] == "queued"


WAITS = pytest.mark.parametrize(
    ("path", "query"), [("", f"wait={LONG}"), ("/events", f"format=json&after=1&wait={LONG}")]
)


@WAITS
async def test_a_wait_ends_when_the_client_leaves(front, path, query):
    path, sent = f"/jobs/{await front.submit()}{path}", []
    scope = {"type": "http", "method": "GET", "path": path, "client": ("::1", 1)}
    scope |= {"query_string": query.encode(), "server": ("fettle.test", 80)}
    key = front.client.headers["X-API-Key"].encode()
    scope |= {"headers": [(b"host", b"fettle.test"), (b"x-api-key", key)], "root_path": ""}
    messages = iter([{"type": "http.request", "body": b""}, {"type": "http.disconnect"}])

    async def receive():
        return next(messages)

    async def send(message):
        sent.append(message)

    async with asyncio.timeout(QUICKLY):
        await front.app(scope, receive, send)
    with contextlib.ExitStack() as stack:
        for _ in range(STREAMS):  # its slot is free again
            stack.enter_context(front.services.streams.slot(FIRST_ID))


@WAITS
@pytest.mark.parametrize("job_ends", [True, False], ids=["the job ends", "the job goes on"])
async def test_a_revoked_key_gets_no_answer(front, path, query, job_ends):
    job_id = await front.submit()
    created = await front.client.post("/keys", json={"name": "ada", "scopes": ["read"]})
    async with front.with_key(created.json()["secret"]) as ada:
        async with asyncio.timeout(QUICKLY):
            request = asyncio.create_task(ada.get(f"/jobs/{job_id}{path}?{query}"))
            await until_it_listens(front, job_id)
            await front.client.delete(f"/keys/{created.json()['id']}")
            if job_ends:
                await front.client.post(f"/jobs/{job_id}/cancel")
            assert (await request).status_code == 401


async def test_a_wait_takes_a_slot_of_a_stream(front):
    job_id = await front.submit()
    with contextlib.ExitStack() as stack:
        for _ in range(STREAMS):
            stack.enter_context(front.services.streams.hold(FIRST_ID))
        refused = await front.client.get(f"/jobs/{job_id}?wait=1")
        assert (refused.status_code, refused.json()["type"]) == (429, "/problems/too-many-streams")
        assert (await front.client.get(f"/jobs/{job_id}")).status_code == 200
