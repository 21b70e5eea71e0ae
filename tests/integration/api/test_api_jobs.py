"""Jobs over HTTP: submit, read, list, cancel, on a real Redis."""

from __future__ import annotations

from dataclasses import replace

import pytest
import structlog
from support.jobs.job_examples import VERIFIED
from support.pages.api_front import charge, done, settings_for, started, text
from support.pages.pages_browser import visiting

from api.schemas.job import Job, JobList
from jobs.model.codec import record_fields
from jobs.model.record import Reason, Result
from jobs.redis.keys import JobKeys


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def test_a_submitted_job_is_on_record_with_its_files(front):
    body = {"task": "fix it", "files": {"src/a.py": "print('ü')\n"}, "labels": ["x", "x", "y"]}
    answer = await front.client.post("/jobs", json=body, headers={"X-Request-Id": "req-7"})
    assert answer.status_code == 202
    job = Job.model_validate(await front.job(answer.json()["id"]))
    assert answer.headers["location"] == f"/jobs/{job.id}" == answer.json()["links"]["self"]
    assert answer.headers["x-request-id"] == job.request_id == "req-7"
    assert (job.status, job.submitted_by, job.spec.labels) == ("queued", "development", ["x", "y"])
    loaded = await front.services.store.load(job.id)
    assert loaded.record.spec.task == "fix it"
    assert loaded.record.key_id == "configured"
    downloaded = await front.client.get(f"/jobs/{job.id}/files/src/a.py")
    assert downloaded.content == "print('ü')\n".encode()


async def test_every_field_of_the_body_reaches_the_record(front):
    request = {
        "task": "t",
        "review": True,
        "model": "groq:llama",
        "steps": ["one", "two"],
        "conversation_id": await front.submit(),
        "max_revisions": 0,
        "on_exhausted": "accept",
        "verify": ["pytest", "-q"],
        "evidence": "none",
        "timeout_seconds": 7,
        "review_expires_seconds": 60,
        "on_expiry": "reject",
        "priority": "high",
        "labels": ["demo"],
    }
    job_id = await front.submit(**request)
    job = await front.job(job_id)
    assert job["conversation_id"] == request.pop("conversation_id")
    assert {name: job["spec"][name] for name in request} == request


async def test_the_full_job_is_reported_while_it_runs(front):
    job_id = await front.submit(review=True)
    lease = await front.claim(job_id)
    plot = await front.store_artifact("plot.png", b"png", "image/png")
    charges = [charge("c1", "planner", "0.001"), charge("c2", "executor", None)]
    await front.add_events(
        lease,
        ("planned", {"steps": ["a", "b"], "source": "model", "note": None}),
        charges=charges,
    )
    await front.run(lease, 1, succeeded=False, exit_code=1, end="exited")
    await front.run(lease, 2, artifacts=[plot], stdout=text("4…", digest="ab" * 32))
    job = Job.model_validate(await front.job(job_id))
    assert job.status == "running"
    assert job.plan["steps"] == ["a", "b"]
    assert [run["succeeded"] for run in job.runs] == [False, True]
    assert job.runs[1]["stdout"]["href"] == f"/jobs/{job_id}/runs/2/stdout"
    assert job.artifacts[0]["href"] == f"/jobs/{job_id}/artifacts/plot.png"
    assert job.cost.roles["planner"].cost_usd == "0.001"
    assert (job.cost.total.cost_usd, job.cost.total.known_usd) == (None, "0.001")
    assert job.attempts == 1


async def test_the_best_result_of_a_failed_job_is_reported_and_downloaded_like_any_other(front):
    job_id = await front.submit()
    lease = await front.claim(job_id)
    artifact = await front.store_artifact("a.py", b"print(1)", "text/x-python")
    await front.run(lease, 1, artifacts=[artifact])
    await front.add_events(lease, ("verified", VERIFIED))
    best = Result("so far", None, (artifact,), verification=VERIFIED)
    done(await front.services.operations.fail(lease, Reason.UNAPPROVED, "not approved", best))
    full_job = Job.model_validate(await front.job(job_id))
    assert (full_job.status, full_job.reason, full_job.unapproved) == ("failed", "unapproved", True)
    assert (full_job.result.answer, full_job.result.approved_by) == ("so far", None)
    assert full_job.result.verification["experiments"][0]["still_green"]
    assert (full_job.verification["command"], full_job.verification["holds"]) == (
        "pytest -q",
        False,
    )
    downloaded = await front.client.get(f"/jobs/{job_id}/artifacts/a.py")
    assert downloaded.content == b"print(1)"
    page = (await front.client.get("/jobs")).json()["jobs"][0]
    assert page["unapproved"]


async def test_a_job_that_has_ended_can_be_deleted_by_an_admin_of_its_tenant(front):
    job_id, running = await front.submit(), await front.submit()
    await front.finish(job_id)
    await front.claim(running)
    client = front.client
    refused = await client.delete(f"/jobs/{running}")
    assert (refused.status_code, refused.json()["state"]) == (409, "running")
    for status, scopes, tenant in (
        (403, ("submit", "read", "review"), "default"),
        (404, ("admin",), "other"),
    ):
        async with front.with_key(await front.key(*scopes, tenant=tenant)) as other_client:
            assert (await other_client.delete(f"/jobs/{job_id}")).status_code == status
    assert (await client.get(f"/jobs/{job_id}")).status_code == 200
    deleted = await client.delete(f"/jobs/{job_id}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert (await client.get(f"/jobs/{job_id}")).status_code == 404
    assert (await client.delete(f"/jobs/{job_id}")).status_code == 404
    assert [listed_job["id"] for listed_job in (await client.get("/jobs")).json()["jobs"]] == [
        running
    ]
    store = front.services.store
    assert await store.redis.keys(f"fettle:*{job_id}*") == []


@pytest.mark.invariant("J2")
async def test_the_same_key_and_body_are_the_same_job(front):
    headers = {"Idempotency-Key": "once"}
    first = await front.client.post("/jobs", json={"task": "a"}, headers=headers)
    await front.finish(first.json()["id"])
    again = await front.client.post("/jobs", json={"task": "a", "review": False}, headers=headers)
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])
    assert again.json()["status"] == "succeeded"
    assert again.headers["idempotency-replayed"] == "true"
    other_answer = await front.client.post("/jobs", json={"task": "b"}, headers=headers)
    assert other_answer.status_code == 422
    assert other_answer.json()["type"] == "/problems/idempotency-key-reused"
    assert (await front.client.get("/jobs")).json()["total"] == 1


@pytest.mark.parametrize("key", ["", "x" * 201, "a b", "a\tb"])
async def test_an_idempotency_key_has_a_limited_length(front, key):
    answer = await front.client.post("/jobs", json={"task": "a"}, headers={"Idempotency-Key": key})
    assert answer.status_code == 422
    assert "idempotency-key" in answer.json()["errors"][0]["field"]


async def test_a_listing_is_newest_first_with_its_total(front):
    ids = [await front.submit(f"task {i}", labels=["even"] if i % 2 == 0 else []) for i in range(5)]
    await front.finish(ids[0])
    page = JobList.model_validate((await front.client.get("/jobs?limit=2&offset=1")).json())
    assert ([job.id for job in page.jobs], page.total) == ([ids[3], ids[2]], 5)
    assert (page.limit, page.offset) == (2, 1)
    even = (await front.client.get("/jobs", params={"label": "even"})).json()
    assert [job["id"] for job in even["jobs"]] == [ids[4], ids[2], ids[0]]
    done_ones = (await front.client.get("/jobs?status=succeeded&label=even")).json()
    assert ([job["id"] for job in done_ones["jobs"]], done_ones["total"]) == ([ids[0]], 1)
    assert done_ones["jobs"][0]["links"]["self"] == f"/jobs/{ids[0]}"
    all_of_them = (await front.client.get("/jobs?limit=20&offset=0&status=&label=")).json()
    assert all_of_them["total"] == 5


async def test_a_listing_has_filters_for_submitter_model_repository_conversation_and_date(front):
    repo = {"url": "https://git.example.org/team/app.git"}
    first = await front.submit("first")
    second = await front.submit("second", model="groq:x", conversation_id=first)
    third = await front.submit("third", repo=repo, review=True)
    day = (await front.job(first))["created_at"]
    for query, expected in (
        ({"person": "development"}, [third, second, first]),
        ({"person": "ann"}, []),
        ({"model": "groq:x", "label": " "}, [second]),
        ({"repository": "git.example.org/team/app"}, [third]),
        ({"repository": repo["url"], "status": "queued"}, [third]),
        ({"conversation": first, "sort": "oldest"}, [first, second]),
        ({"from": day, "sort": "oldest"}, [first, second, third]),
        ({"to": day}, []),
        ({"from": "2020-01-01", "to": "2020-01-02"}, []),
    ):
        listed = (await front.client.get("/jobs", params=query)).json()
        assert [job["id"] for job in listed["jobs"]] == expected, query
        assert listed["total"] == len(expected)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("offset=-1", "offset"),
        ("offset=99999999999999999999", "offset"),
        ("status=done", "status"),
        (f"label={'x' * 101}", "label"),
        ("limit=x", "limit"),
        ("sort=size", "sort"),
        ("from=yesterday", "from"),
        ("from=2026-02-01&to=2026-01-01", "from"),
    ],
)
async def test_a_bad_query_is_named(front, query, field):
    answer = await front.client.get(f"/jobs?{query}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


async def test_the_labels_of_a_job_in_any_state_can_be_replaced(front):
    job_id = await front.submit(labels=["old"])
    await front.finish(job_id)
    changed = await front.client.patch(f"/jobs/{job_id}", json={"labels": ["new", "big", "new"]})
    assert (changed.status_code, changed.json()["status"]) == (200, "succeeded")
    assert (await front.job(job_id))["spec"]["labels"] == ["new", "big"]
    for label, total in (("old", 0), ("big", 1)):
        assert (await front.client.get("/jobs", params={"label": label})).json()["total"] == total
    for body in ({"labels": ["x"] * 21}, {"labels": [" x"]}, {}, {"labels": [], "task": "x"}):
        refused = await front.client.patch(f"/jobs/{job_id}", json=body)
        assert refused.status_code == 422, body
    assert (await front.client.patch(f"/jobs/{'0' * 20}", json={"labels": []})).status_code == 404
    reader = await front.key("read")
    async with front.with_key(reader) as other:
        assert (await other.patch(f"/jobs/{job_id}", json={"labels": []})).status_code == 403


async def test_cancel_is_sticky(front):
    job_id = await front.submit()
    answer = await front.client.post(f"/jobs/{job_id}/cancel")
    assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")
    again = await front.client.post(f"/jobs/{job_id}/cancel")
    assert (again.status_code, again.json()) == (200, answer.json())
    ended_job = await front.submit()
    await front.finish(ended_job)
    late = await front.client.post(f"/jobs/{ended_job}/cancel")
    assert (late.status_code, late.json()["type"]) == (409, "/problems/wrong-state")
    assert late.json()["state"] == "succeeded"
    assert late.json()["detail"] == "this job has already succeeded: it cannot be cancelled"
    events = await front.client.get(
        f"/jobs/{job_id}/events", headers={"Accept": "application/json"}
    )
    signer = {"by": "development", "key_id": "configured", "person": "development"}
    assert events.json()["events"][-1]["data"] == signer


async def test_a_cancelled_job_is_retried_as_a_new_job(front):
    job_id = await front.submit("fix it", labels=["l"])
    early = await front.client.post(f"/jobs/{job_id}/retry")
    assert (early.status_code, early.json()["type"]) == (409, "/problems/wrong-state")
    assert early.json()["state"] == "queued"
    await front.client.post(f"/jobs/{job_id}/cancel")
    answer = await front.client.post(f"/jobs/{job_id}/retry")
    assert answer.status_code == 202
    retry_job = Job.model_validate(await front.job(answer.json()["id"]))
    assert answer.headers["location"] == f"/jobs/{retry_job.id}" != f"/jobs/{job_id}"
    assert (retry_job.spec.retry_of, retry_job.spec.task, retry_job.spec.labels) == (
        job_id,
        "fix it",
        ["l"],
    )
    assert (retry_job.status, retry_job.conversation_id) == ("queued", job_id)
    assert (await front.job(job_id))["status"] == "cancelled"


async def test_an_unknown_conversation_is_404(front):
    failed = await front.submit()
    await front.client.post(f"/jobs/{failed}/cancel")
    follow = await front.submit(conversation_id=failed)
    assert (await front.job(follow))["conversation_id"] == failed
    for name in ("0" * 20, "talk.1", "0:events", follow):
        answer = await front.client.post("/jobs", json={"task": "t", "conversation_id": name})
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found"), name
        assert f"there is no conversation {name}" in answer.json()["detail"]
    async with front.with_key(await front.key("submit", tenant="acme")) as other_client:
        answer = await other_client.post("/jobs", json={"task": "t", "conversation_id": failed})
        assert answer.status_code == 404


async def test_a_token_limit_below_one_call_is_refused_with_the_smallest_limit(front):
    ask = {"task": "t", "max_tokens": 14_000}
    assert (await front.client.post("/jobs", json=ask)).status_code == 202, "no worker to ask"
    facts = {"call_tokens": 14_192, "models": {"default": "groq:x"}}
    await front.services.store.announce("w1", {**facts, "call_tokens": 20_000}, 60)
    await front.services.store.announce("w2", facts, 60)
    answer = await front.client.post("/jobs", json=ask)
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["field"], error["limit"]) == (422, "max_tokens", 14_192)
    assert (
        "the calls of a small job can take 14,192 tokens: allow at least that many"
        in error["message"]
    )
    failed = await front.submit(max_tokens=14_192)
    await front.client.post(f"/jobs/{failed}/cancel")
    retry_job = await front.client.post(f"/jobs/{failed}/retry", json={"max_tokens": 1})
    assert retry_job.status_code == 422
    await front.submit(max_tokens=100, model="recording:x")


async def test_an_amount_may_be_a_json_number(front):
    job_id = await front.submit(max_cost_usd=0.25)
    assert (await front.job(job_id))["spec"]["max_cost_usd"] == "0.25"
    limits = {"max_cost_usd_per_day": 2, "max_tokens_per_day": None}
    path = "/tenants/acme/limits"
    assert (await front.client.put(path, json=limits)).json()["max_cost_usd_per_day"] == "2"


async def test_a_retry_may_have_other_terms(front):
    job_id = await front.submit("fix it", max_cost_usd="0.1", review=True, labels=["l"])
    await front.client.post(f"/jobs/{job_id}/cancel")
    path, headers = f"/jobs/{job_id}/retry", {"Idempotency-Key": "again"}
    terms = {"max_cost_usd": "2.5", "timeout_seconds": 1_800, "review": False, "model": "groq:x"}
    answer = await front.client.post(path, json=terms, headers=headers)
    replay = await front.client.post(path, json=terms, headers=headers)
    assert (answer.status_code, answer.json()) == (202, replay.json())
    assert replay.headers["idempotency-replayed"] == "true"
    for other_body in ({}, {"json": {**terms, "review": True}}):
        reused = await front.client.post(path, headers=headers, **other_body)
        assert reused.json()["type"] == "/problems/idempotency-key-reused"
    spec = (await front.job(answer.json()["id"]))["spec"]
    assert {name: spec[name] for name in terms} == terms
    assert (spec["task"], spec["labels"], spec["retry_of"]) == ("fix it", ["l"], job_id)
    removed = await front.client.post(path, json={"max_cost_usd": None})
    spec = (await front.job(removed.json()["id"]))["spec"]
    assert (spec["max_cost_usd"], spec["review"]) == (None, True)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"task": "another"}, "task"),
        ({"timeout_seconds": 10_000_000}, "timeout_seconds"),
        ({"model": "evil:x"}, "model"),
        ({"review": True, "on_expiry": "reject"}, "on_expiry"),
        ({"approvals": 2}, "approvals"),
        ({"max_cost_usd": 0}, "max_cost_usd"),
    ],
)
async def test_a_retry_is_checked_like_a_job(front, sent, field):
    job_id = await front.submit()
    await front.client.post(f"/jobs/{job_id}/cancel")
    answer = await front.client.post(f"/jobs/{job_id}/retry", json=sent)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]


async def test_an_answer_to_a_change_reports_only_fields_that_its_key_may_read(front):
    job_id = await front.paused()
    secret = await front.key("submit", "review")
    async with front.with_key(secret) as blind:
        assert (await blind.get(f"/jobs/{job_id}")).status_code == 403
        headers = {"Idempotency-Key": "k"}
        answers = [
            await blind.post("/jobs", json={"task": "t"}, headers=headers),
            await blind.post("/jobs", json={"task": "t"}, headers=headers),
            await blind.post(f"/jobs/{job_id}/review", json={"action": "delegate"}),
            await blind.post(f"/jobs/{job_id}/cancel"),
            await blind.post(f"/jobs/{job_id}/cancel"),
            await blind.post(f"/jobs/{job_id}/retry"),
            await blind.post("/verifications", json={"checks": {"files": {"test_a.py": ""}}}),
        ]
    for answer in answers:
        assert set(answer.json()) == {"id", "kind", "status", "version", "links"}, answer.text


@pytest.mark.parametrize("job_id", ["0" * 20, "%2e%2e", "0:events", "ü", "A" * 20])
async def test_an_unknown_job_is_404_everywhere(front, job_id):
    for path in (
        "",
        "/events",
        "/files",
        "/files/a",
        "/files.tar.gz",
        "/artifacts",
        "/runs/1/code",
    ):
        answer = await front.client.get(f"/jobs/{job_id}{path}")
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found"), path
    for path in ("/cancel", "/review", "/retry", "/rebase"):
        sent = {} if path in ("/retry", "/rebase") else {"json": {"action": "approve"}}
        answer = await front.client.post(f"/jobs/{job_id}{path}", **sent)
        assert answer.status_code == 404


async def test_bodies_that_are_not_json_objects_of_fettle_are_refused(front):
    post = front.client.post
    assert (await post("/jobs", content=b"task=x")).status_code == 415
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert (await post("/jobs", content=b"task=x", headers=form)).status_code == 415
    json = {"Content-Type": "application/json; charset=utf-8"}
    for raw in (
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"\xff\xfe",
        b'{"task": "\\ud800"}',
        b"[" * 9999,
    ):
        answer = await post("/jobs", content=raw, headers=json)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "body"), raw[:20]


async def test_a_body_that_is_too_large_is_413(redis_url, tmp_path):
    settings = settings_for(redis_url, tmp_path, max_files_bytes=1_000, max_body_bytes=1_000)
    async with started(settings) as front:
        huge = await front.client.post("/jobs", json={"task": "x" * 2_000})
        assert (huge.status_code, huge.json()["limit"]) == (413, 2_000)
        assert huge.headers["connection"] == "close"
        answer_to_long = await front.client.post("/jobs", json={"task": "x" * 1_100})
        assert (answer_to_long.status_code, answer_to_long.json()["limit"]) == (413, 1_000)

        async def chunks():
            for _ in range(30):
                yield b" " * 100

        json = {"Content-Type": "application/json"}
        chunked = await front.client.post("/jobs", content=chunks(), headers=json)
        assert chunked.status_code == 413


async def test_an_unexpected_failure_is_a_problem_without_details(front):
    job_id = await front.submit()
    loaded = await front.services.store.load(job_id)
    torn = record_fields(replace(loaded.record))["state"][:-5]
    await front.services.store.redis.hset(JobKeys(job_id).record, "state", torn)
    with structlog.testing.capture_logs() as logs:
        answer = await front.client.get(f"/jobs/{job_id}")
    assert answer.status_code == 500
    assert [line["path"] for line in logs if line["event"] == "request failed"] == [
        f"/jobs/{job_id}"
    ]
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert "json" not in answer.json()["detail"].lower()


async def test_a_queued_job_shows_the_reason_why_it_waits(front):
    async def reasons() -> list[str]:
        answers = await front.job(job_id), (await front.client.get("/jobs")).json()["jobs"][0]
        return [job_json["queued"]["reason"] for job_json in answers]

    job_id = await front.submit()
    store = front.services.store
    assert await reasons() == ["no_worker"] * 2
    broken = {"slots": 1, "sandbox": {"works": False, "why": "no bubblewrap"}}
    await store.announce("w1", broken, 60)
    assert await reasons() == ["broken_workers"] * 2
    async with visiting(front.app) as visit:
        for path in (f"/app/jobs/{job_id}", "/app"):
            assert "no worker can take jobs: sandbox out of order" in (await visit.get(path)).text
    await store.announce("w1", {"slots": 1, "sandbox": {"works": True}}, 60)
    assert await reasons() == ["next"] * 2
    await front.claim(job_id)
    assert (await front.job(job_id))["queued"] is None
    other_job = await front.submit()
    follower = await front.submit(conversation_id=other_job)
    busy = (await front.job(other_job))["queued"]
    assert (busy["reason"], busy["place"]) == ("busy", 1)
    in_line = (await front.job(follower))["queued"]
    assert (in_line["reason"], in_line["place"]) == ("in_line", None)
    async with visiting(front.app) as visit:
        page = (await visit.get(f"/app/jobs/{other_job}")).text
        assert "1 can; place 1 in the queue of your tenant" in page
