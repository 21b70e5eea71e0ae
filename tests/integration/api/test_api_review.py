"""A person's decision over HTTP."""

from __future__ import annotations

import asyncio
import csv
import io

import pytest
from support.pages.api_front import settings_for, started


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def decide(front, job_id, **body):
    return await front.client.post(f"/jobs/{job_id}/review", json=body)


async def test_the_open_review_shows_what_a_person_needs(front):
    job_id = await front.paused("r7")
    shown = await front.job(job_id)
    assert shown["status"] == "awaiting_review"
    assert shown["review"]["id"] == "r7"
    assert shown["review"]["payload"]["runs"][0]["stdout"]["text"] == "42\n"
    assert (await front.client.get("/jobs")).json()["jobs"][0]["open_review"] == "r7"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"action": "approve"}, "queued"),
        ({"action": "revise", "feedback": "again"}, "queued"),
        ({"action": "edit", "code": "print(1)"}, "queued"),
        ({"action": "delegate"}, "queued"),
        ({"action": "reject", "feedback": "not this"}, "failed"),
    ],
)
async def test_each_action_moves_the_job_on(front, body, status):
    job_id = await front.paused()
    answer = await decide(front, job_id, **body)
    assert (answer.status_code, answer.json()["status"]) == (202, status)
    decision = (await front.job(job_id))["decisions"][0]
    assert (decision["action"], decision["by"]) == (body["action"], "development")
    record = (await front.services.store.load(job_id)).record
    assert record.decision.code == body.get("code", "")
    assert record.decision.feedback == body.get("feedback", "")


async def test_work_that_paused_goes_on_without_a_word(front):
    job_id = await front.paused(pause="every_run")
    answer = await decide(front, job_id, action="revise")
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")


async def test_approving_what_never_ran_well_is_an_override(front):
    async def override(job_id, **body):
        assert (await decide(front, job_id, **body)).status_code == 202
        return (await front.job(job_id))["decisions"][0]["override"]

    assert not await override(await front.paused(), action="approve")
    assert await override(await front.paused(succeeded=False), action="approve")
    revised = await front.paused(succeeded=False)
    assert not await override(revised, action="revise", feedback="x")


async def test_a_decision_on_another_review_is_409_and_names_the_open_one(front):
    job_id = await front.paused("r2")
    answer = await decide(front, job_id, action="approve", review_id="r1")
    assert answer.status_code == 409
    problem = answer.json()
    assert (problem["type"], problem["review_id"]) == ("/problems/stale-review", "r2")
    assert problem["state"] == "awaiting_review"
    assert (await decide(front, job_id, action="approve", review_id="r2")).status_code == 202


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"action": "edit"}, "code"),
        ({"action": "revise"}, "feedback"),
        ({"action": "reject", "feedback": ""}, "feedback"),
        ({"action": "maybe"}, "action"),
        ({}, "action"),
        ({"action": "approve", "by": "me"}, "by"),
    ],
)
async def test_what_is_missing_is_named(front, body, field):
    job_id = await front.paused()
    answer = await decide(front, job_id, **body)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert (await front.job(job_id))["status"] == "awaiting_review"


async def test_a_decision_names_what_was_looked_at(front):
    job_id = await front.paused("r2")
    review = (await front.job(job_id))["review"]
    stale = await decide(front, job_id, action="approve", digest="0" * 64)
    assert (stale.status_code, stale.json()["type"]) == (409, "/problems/stale-review")
    newer = {"review_id": stale.json()["review_id"], "digest": stale.json()["digest"]}
    assert newer == {"review_id": "r2", "digest": review["digest"]}
    await decide(front, job_id, action="approve", **newer)
    shown = (await front.job(job_id))["decisions"][0]
    assert (shown["digest"], shown["digest_named"]) == (review["digest"], True)
    bad = await decide(front, await front.paused(), action="approve", digest="abc")
    assert (bad.status_code, bad.json()["errors"][0]["field"]) == (422, "digest")


async def test_who_comes_too_late_is_reported_what_was_decided(front):
    job_id = await front.paused("r2")
    await decide(front, job_id, action="revise", feedback="more")
    late = (await decide(front, job_id, action="approve")).json()
    assert late["type"] == "/problems/no-open-review"
    assert late["decision"] == {"review_id": "r2", "action": "revise", "by": "development"}


async def test_two_other_people_approve(front):
    job_id = await front.paused(approvals=2)
    own = await decide(front, job_id, action="approve")
    assert (own.status_code, own.json()["type"]) == (403, "/problems/own-approval")
    for name in ("grace", "heidi"):
        async with front.with_key(await front.key("review", name=name)) as client:
            answer = await client.post(f"/jobs/{job_id}/review", json={"action": "approve"})
            assert answer.status_code == 202
            shown = await front.job(job_id)
            assert answer.json()["status"] == shown["status"]
            if name == "grace":
                again = await client.post(f"/jobs/{job_id}/review", json={"action": "approve"})
                assert (again.status_code, again.json()["type"]) == (409, "/problems/voted-already")
                review = shown["review"]
                assert (shown["status"], review["approvals_needed"]) == ("awaiting_review", 2)
                assert [vote["by"] for vote in review["approvals"]] == ["grace"]
    assert (shown["status"], shown["decisions"][0]["approvals"]) == ("queued", ["grace", "heidi"])


async def test_what_waits_is_listed_for_those_who_may_decide_it(front):
    job_id = await front.paused(approvals=2)
    assert (await front.client.get("/jobs?waiting=me")).json()["total"] == 0, "their own job"
    async with front.with_key(await front.key("read", "review", name="grace")) as grace:
        shown = (await grace.get("/jobs?waiting=me")).json()
        assert [job["id"] for job in shown["jobs"]] == [job_id]
        review = shown["jobs"][0]["review"]
        assert (review["approvals"], review["approvals_needed"]) == ([], 2)
        assert review["waiting_seconds"] >= 0
    async with front.with_key(await front.key("read", name="heidi")) as heidi:
        assert (await heidi.get("/jobs?waiting=me")).json()["total"] == 0, "she may not review"
    shown = (await front.client.get("/jobs?text=add 1")).json()
    assert [job["id"] for job in shown["jobs"]] == [job_id]
    assert (shown["jobs"][0]["cost_usd"], shown["jobs"][0]["kind"]) == ("0", "task")


async def test_decisions_are_exported_as_json_and_csv(front):
    job_id = await front.paused()
    review = (await front.job(job_id))["review"]
    words = '=HYPERLINK("x"), "quoted"\nand a second line'
    await decide(front, job_id, action="revise", feedback=words, digest=review["digest"])
    shown = (await front.client.get("/decisions?from=2020-01-01&limit=5")).json()
    (one,) = shown["decisions"]
    assert (shown["total"], one["job_id"], one["action"]) == (1, job_id, "revise")
    assert (one["digest"], one["digest_named"], one["feedback"]) == (review["digest"], True, words)
    assert one["at"] == (await front.job(job_id))["decisions"][0]["at"]
    answer = await front.client.get("/decisions?format=csv")
    assert answer.headers["x-total-count"] == "1"
    (row,) = csv.DictReader(io.StringIO(answer.text, newline=""))
    assert (row["by"], row["feedback"]) == ("development", f"'{words}")
    later = {"from": one["at"].replace("Z", "+00:00"), "to": "2020-01-01T00:00:00Z"}
    assert (await front.client.get("/decisions", params=later)).json()["total"] == 0
    async with front.with_key(await front.key("admin", tenant="other")) as other:
        assert (await other.get("/decisions")).json()["total"] == 0


async def test_the_outbox_is_the_operators_to_see(redis_url, tmp_path):
    hook = {"webhook_url": "http://127.0.0.1:1/", "webhook_secret": "whsec_" + "A" * 32}
    async with started(settings_for(redis_url, tmp_path, **hook)) as front:
        job_id = await front.paused()
        await asyncio.sleep(0.002)  # what is reported in one millisecond comes in any order
        await decide(front, job_id, action="approve")
        shown = (await front.client.get("/webhook-deliveries")).json()
        assert [each["type"] for each in shown["waiting"]] == ["review.opened", "review.decided"]
        assert shown["waiting"][1]["data"]["by"] == "development"
        outbox = front.services.store.outbox
        for each in await outbox.lease(9, 1_000):
            await outbox.fail(each, "no", None)
        shown = (await front.client.get("/webhook-deliveries")).json()
        assert (shown["waiting_total"], shown["dead_total"]) == (0, 2)
        dead = shown["dead"][0]["id"]
        assert (await front.client.post(f"/webhook-deliveries/{dead}/retry")).status_code == 202
        assert (await front.client.post(f"/webhook-deliveries/{dead}/retry")).status_code == 404
        async with front.with_key(await front.key("admin", tenant="other")) as other:
            assert (await other.get("/webhook-deliveries")).status_code == 403
