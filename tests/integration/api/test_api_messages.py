"""Messages to a job over HTTP and by the form of its page."""

from __future__ import annotations

import json

import pytest
from support.pages.api_front import RESULT, done, settings_for, started
from support.pages.pages_browser import visiting

from jobs.transitions.messages import MAX_MESSAGES

TEXT = {"text": "Also sort them"}


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def send(client, job_id, body=TEXT, **headers):
    return await client.post(f"/jobs/{job_id}/messages", json=body, headers=headers)


async def test_a_message_is_an_event_and_part_of_the_job(front):
    job_id = await front.submit(task="List numbers")
    await front.claim(job_id)
    secret = await front.key("submit", name="ann", person="Ann")
    async with front.with_key(secret) as client:
        answer = await send(client, job_id)
    assert (answer.status_code, answer.json()["status"]) == (202, "running")
    assert answer.headers["location"] == f"/jobs/{job_id}"
    job = await front.job(job_id)
    (message,) = job["messages"]
    assert message["at"].endswith("Z")
    assert {name: message[name] for name in ("number", "by", "person", "text", "read_by")} == {
        "number": 1, "by": "ann", "person": "Ann", "text": "Also sort them", "read_by": [],
    }  # fmt: skip
    log = (await front.client.get("/audit")).text
    (entry,) = [json.loads(line) for line in log.splitlines() if '"message_added"' in line]
    assert entry["data"] == {"job_id": job_id, "number": 1}
    assert entry["actor"]["person"] == "Ann"


async def test_a_repeated_request_adds_one_message(front):
    job_id = await front.submit()
    first, second = [await send(front.client, job_id, **{"Idempotency-Key": "m1"}) for _ in "ab"]
    assert first.status_code == second.status_code == 202
    assert second.headers["idempotency-replayed"] == "true"
    reused = await send(front.client, job_id, {"text": "Other"}, **{"Idempotency-Key": "m1"})
    assert (reused.status_code, reused.json()["type"]) == (422, "/problems/idempotency-key-reused")
    assert len((await front.job(job_id))["messages"]) == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"text": "   "}, "it has no text"),
        ({"text": "x" * 4_001}, "4000"),
        ({}, "required"),
    ],
)
async def test_a_text_is_needed_and_bounded(front, body, message):
    answer = await send(front.client, await front.submit(), body)
    assert answer.status_code == 422
    assert message in answer.text


async def test_the_number_of_messages_is_bounded(front):
    job_id = await front.submit()
    for _ in range(MAX_MESSAGES):
        assert (await send(front.client, job_id)).status_code == 202
    refused = await send(front.client, job_id)
    assert (refused.status_code, "at most 100" in refused.json()["detail"]) == (409, True)


async def test_a_message_may_come_while_the_job_waits_for_a_review(front):
    job_id = await front.paused()
    assert (await send(front.client, job_id)).json()["status"] == "awaiting_review"


async def test_after_the_end_a_follow_up_is_offered(front):
    job_id = await front.submit()
    await front.finish(job_id)
    refused = await send(front.client, job_id)
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/wrong-state")
    assert f"conversation_id {job_id}" in refused.json()["detail"]


async def test_the_sender_may_not_approve_where_others_have_to(front):
    submitter = await front.key("submit", name="ben", person="Ben")
    async with front.with_key(submitter) as client:
        job_id = await front.paused(approvals=2, by=client)
    secret = await front.key("submit", "review", name="ann", person="Ann")
    async with front.with_key(secret) as client:
        assert (await send(client, job_id)).status_code == 202
        answer = await client.post(f"/jobs/{job_id}/review", json={"action": "approve"})
    assert answer.json()["type"] == "/problems/own-approval"


async def test_the_first_key_sends_no_message_where_others_have_to_approve(front):
    secret = await front.key("submit", name="ann", person="Ann")
    async with front.with_key(secret) as client:
        body = {"task": "Add.", "review": True, "approvals": 2}
        job_id = (await client.post("/jobs", json=body)).json()["id"]
    refused = await send(front.client, job_id)
    assert refused.status_code == 422
    assert "send it with a person's key" in refused.text


async def test_a_verification_takes_no_messages(front):
    checks = {"files": {"test_a.py": "def test_a(): pass\n"}}
    body = {"files": {"a.py": ""}, "checks": checks}
    job_id = (await front.client.post("/verifications", json=body)).json()["id"]
    refused = await send(front.client, job_id)
    assert (refused.status_code, "only a task does" in refused.json()["detail"]) == (409, True)


async def test_the_page_sends_a_message_without_scripts(front):
    job_id = await front.submit()
    lease = await front.claim(job_id)
    async with visiting(front.app) as visit:
        page = f"/app/jobs/{job_id}"
        assert 'name="text"' in (await visit.get(page)).text
        headers = {"X-Form-Token": visit.token}
        answer = await visit.http.post(f"{page}/message", data=TEXT, headers=headers)
        assert (answer.status_code, answer.headers["location"]) == (303, page)
        html = (await visit.get(page)).text
        assert "<blockquote>Also sort them</blockquote>" in html
        assert "1, 1 not read" in html
        data = {"messages": [1], "role": "executor"}
        await front.add_events(lease, ("messages_read", data))
        html = (await visit.get(page)).text
        assert "The executor has read message 1" in html
        assert "not read" not in html
        done(await front.services.operations.succeed(lease, RESULT, "added"))
        assert 'id="message-text"' not in (await visit.get(page)).text
