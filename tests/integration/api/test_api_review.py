"""A person's decision over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import io
import json
from dataclasses import replace

import pytest
from support.pages.api_front import RESULT, done, settings_for, started

from jobs.model.credentials import FIRST_ID
from jobs.model.record import PatchRef, Reason, Result
from jobs.model.review import Review, ReviewKind
from jobs.model.spec import JobSpec
from jobs.store import Writes

EVERY = ("submit", "read", "review", "admin")


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def decide(front, job_id, **body):
    return await front.client.post(f"/jobs/{job_id}/review", json=body)


async def test_the_open_review_shows_what_a_person_needs(front):
    job_id = await front.paused("r7")
    job = await front.job(job_id)
    assert job["status"] == "awaiting_review"
    assert job["review"]["id"] == "r7"
    assert job["review"]["payload"]["runs"][0]["stdout"]["text"] == "42\n"
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
async def test_each_action_continues_or_ends_the_job(front, body, status):
    job_id = await front.paused()
    answer = await decide(front, job_id, **body)
    assert (answer.status_code, answer.json()["status"]) == (202, status)
    decision = (await front.job(job_id))["decisions"][0]
    assert (decision["action"], decision["by"]) == (body["action"], "development")
    record = (await front.services.store.load(job_id)).record
    assert record.decision.code == body.get("code", "")
    assert record.decision.feedback == body.get("feedback", "")


async def test_paused_work_continues_without_feedback(front):
    job_id = await front.paused(pause="every_run")
    answer = await decide(front, job_id, action="revise")
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")


async def test_an_approval_against_the_evidence_has_to_be_an_override_with_a_remark(front):
    job_id = await front.paused(succeeded=False)
    verdict = (await front.job(job_id))["review"]["verdict"]
    assert (verdict["level"], verdict["needs_override"]) == ("red", True)
    refused = await decide(front, job_id, action="approve")
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/override-needed")
    assert refused.json()["detail"] == verdict["reason"] == "Run 1 failed: exit code 0"
    for feedback in ({}, {"feedback": " "}):
        blank = await decide(front, job_id, action="approve", override=True, **feedback)
        assert (blank.status_code, blank.json()["errors"][0]["field"]) == (422, "feedback")
    assert (await front.job(job_id))["status"] == "awaiting_review"
    approval = {"action": "approve", "override": True, "feedback": "The test is wrong."}
    assert (await decide(front, job_id, **approval)).status_code == 202
    job = await front.job(job_id)
    assert (job["override"], job["decisions"][0]["override"]) == (True, True)
    assert job["decisions"][0]["evidence"] == verdict
    (listed,) = (await front.client.get("/jobs?override=true")).json()["jobs"]
    assert (listed["id"], listed["override"]) == (job_id, True)
    wrong = await front.client.get("/jobs?override=perhaps")
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "override")


async def test_an_approval_with_the_evidence_is_no_override(front):
    job_id = await front.paused()
    verdict = (await front.client.get("/jobs")).json()["jobs"][0]["review"]["verdict"]
    assert verdict["needs_override"] is False
    approval = {"action": "approve", "override": True, "feedback": "sure"}
    assert (await decide(front, job_id, **approval)).status_code == 202
    job = await front.job(job_id)
    assert (job["override"], job["decisions"][0]["override"]) == (False, False)
    assert (await front.client.get("/jobs?override=true")).json()["total"] == 0
    revised = await front.paused(succeeded=False)
    wrong = await decide(front, revised, action="revise", feedback="x", override=True)
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (422, "override")


async def test_a_person_withdraws_an_approval_until_the_second_comes(front):
    async with people(front, "ada", "grace", "heidi") as (ada, grace, heidi):
        job_id = await front.paused(approvals=2, by=ada)
        withdraw = {"action": "withdraw"}
        path = f"/jobs/{job_id}/review"
        assert "withdraw" not in (await front.job(job_id))["review"]["actions"]
        assert (await approve(grace, job_id))[0] == 202
        assert "withdraw" in (await front.job(job_id))["review"]["actions"]
        refused = await heidi.post(path, json=withdraw)
        assert (refused.status_code, refused.json()["type"]) == (
            409,
            "/problems/decision-not-offered",
        )
        assert (await grace.post(path, json=withdraw)).status_code == 202
        assert (await front.job(job_id))["review"]["approvals"] == []
        assert (await grace.get("/jobs?waiting=me")).json()["total"] == 1
        for client in (heidi, grace):
            assert (await approve(client, job_id))[0] == 202
        assert (await grace.post(path, json=withdraw)).status_code == 409


async def test_a_result_names_who_approved_which_digest_on_which_evidence(front):
    async with people(front, "ada", "grace", "heidi") as (ada, grace, heidi):
        job_id = await front.paused(approvals=2, by=ada, succeeded=False)
        review = (await front.job(job_id))["review"]
        path = f"/jobs/{job_id}/review"
        body = {"action": "approve", "override": True, "digest": review["digest"]}
        for client, remark in ((grace, "first"), (heidi, "second")):
            assert (await client.post(path, json={**body, "feedback": remark})).status_code == 202
    lease = await front.claim(job_id)
    result = Result("42", "grace and heidi", override=True)
    done(await front.services.operations.succeed(lease, result, ""))
    job = await front.job(job_id)
    approvals = job["result"]["approvals"]
    assert [(vote["person"], vote["feedback"]) for vote in approvals] == [
        ("grace", "first"),
        ("heidi", "second"),
    ]
    for vote in approvals:
        assert (vote["digest"], vote["override"]) == (review["digest"], True)
        assert vote["evidence"] == review["verdict"]
        assert vote["at"].endswith("Z")
    stats = (await front.client.get("/stats")).json()
    assert (stats["success"]["overridden"], stats["days"][-1]["overridden"]) == (1, 1)


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
        ({"action": "edit", "comments": [{"path": "a", "line": 1, "text": "why?"}]}, "code"),
        ({"action": "edit", "files": {"../a": "x"}}, "files.../a"),
        ({"action": "edit", "files": {"a": "x", "a/b": "x"}}, "files.a/b"),
        ({"action": "edit", "files": {"a": None}}, "files.a"),
        ({"action": "approve", "files": {"a": "x"}}, "files"),
        ({"action": "revise"}, "feedback"),
        ({"action": "reject", "feedback": ""}, "feedback"),
        ({"action": "maybe"}, "action"),
        ({}, "action"),
        ({"action": "approve", "by": "me"}, "by"),
    ],
)
async def test_a_missing_field_is_named(front, body, field):
    job_id = await front.paused()
    answer = await decide(front, job_id, **body)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)
    assert (await front.job(job_id))["status"] == "awaiting_review"


async def test_a_decision_names_the_digest_of_the_review(front):
    job_id = await front.paused("r2")
    review = (await front.job(job_id))["review"]
    stale = await decide(front, job_id, action="approve", digest="0" * 64)
    assert (stale.status_code, stale.json()["type"]) == (409, "/problems/stale-review")
    newer = {"review_id": stale.json()["review_id"], "digest": stale.json()["digest"]}
    assert newer == {"review_id": "r2", "digest": review["digest"]}
    await decide(front, job_id, action="approve", **newer)
    decision = (await front.job(job_id))["decisions"][0]
    assert (decision["digest"], decision["digest_named"]) == (review["digest"], True)
    bad = await decide(front, await front.paused(), action="approve", digest="abc")
    assert (bad.status_code, bad.json()["errors"][0]["field"]) == (422, "digest")


async def test_a_late_decision_gets_the_earlier_decision(front):
    job_id = await front.paused("r2")
    await decide(front, job_id, action="revise", feedback="more")
    late = (await decide(front, job_id, action="approve")).json()
    assert late["type"] == "/problems/no-open-review"
    assert late["decision"] == {"review_id": "r2", "action": "revise", "by": "development"}


@contextlib.asynccontextmanager
async def people(front, *names, by=None, scopes=EVERY, **fields):
    """A client for each name, with a key that `by` makes, by default the first key."""
    async with contextlib.AsyncExitStack() as stack:
        clients = []
        for name in names:
            body = {"name": name, "scopes": scopes, **fields}
            created = await (by or front.client).post("/keys", json=body)
            assert created.status_code == 201, created.text
            clients.append(
                await stack.enter_async_context(front.with_key(created.json()["secret"]))
            )
        yield clients


async def approve(client, job_id):
    """The status of the answer, and the type and the detail of a problem."""
    answer = await client.post(f"/jobs/{job_id}/review", json={"action": "approve"})
    problem = answer.json()
    return answer.status_code, problem.get("type", "").rpartition("/")[2], problem.get("detail", "")


async def test_two_other_people_approve(front):
    async with people(front, "ada", "grace", "heidi") as (ada, grace, heidi):
        job_id = await front.paused(approvals=2, by=ada)
        assert (await approve(ada, job_id))[:2] == (403, "own-approval")
        for client in (grace, heidi):
            assert (await approve(client, job_id))[0] == 202
            job = await front.job(job_id)
            if client is grace:
                assert (await approve(client, job_id))[:2] == (409, "voted-already")
                review = job["review"]
                assert (job["status"], review["approvals_needed"]) == ("awaiting_review", 2)
                assert [vote["by"] for vote in review["approvals"]] == ["grace"]
    assert (job["status"], job["decisions"][0]["approvals"]) == ("queued", ["grace", "heidi"])


async def test_nobody_approves_their_own_job_with_keys_that_they_made(front):
    async with (
        people(front, "alice", "bob") as (alice, bob),
        people(front, "sock", by=alice) as (sock,),
        people(front, "puppet", by=sock, person="bob") as (puppet,),
        people(front, "self", person="  \uff21LICE ") as (own_client,),
    ):
        job_id = await front.paused(approvals=2, by=alice)
        for client in (sock, puppet, own_client, front.client):
            status, problem, detail = await approve(client, job_id)
            assert (status, problem) == (403, "own-approval"), detail
            assert (await client.get("/jobs?waiting=me")).json()["total"] == 0
        assert (await approve(bob, job_id))[0] == 202, "a key that names bob does not bar bob"
        assert (await front.job(job_id))["status"] == "awaiting_review"


async def refusal_of(answer):
    """The field and the message of a refused body."""
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    return error["field"], error["message"]


async def test_the_first_key_cannot_submit_work_that_needs_two_approvals(front):
    request = {"task": "x", "review": True, "approvals": 2}
    field, message = await refusal_of(await front.client.post("/jobs", json=request))
    assert field == "approvals"
    assert "submit a new job with a person's key (fettle keys create" in message
    own_job = await front.submit(review=True)
    await front.client.post(f"/jobs/{own_job}/cancel")
    async with people(front, "ada") as (ada,):
        again = await ada.post(f"/jobs/{own_job}/retry", json={"approvals": 2})
        assert "submit a new job with a person's key" in (await refusal_of(again))[1]
        assert (await ada.post("/jobs", json=request)).status_code == 202
        job_id = await front.paused(approvals=2, by=ada)
        edit = await decide(front, job_id, action="edit", code="print(1)")
        assert (edit.status_code, edit.json()["type"]) == (409, "/problems/decision-not-offered")
        assert "edit with a person's key" in edit.json()["detail"]
        await ada.post(f"/jobs/{job_id}/cancel")
        again = await front.client.post(f"/jobs/{job_id}/retry")
        assert "with a person's key" in (await refusal_of(again))[1]
        assert (await ada.post(f"/jobs/{job_id}/retry")).status_code == 202


async def test_a_key_that_the_first_key_made_cannot_approve_the_first_keys_work(front):
    """An earlier release accepted this job."""
    operations = front.services.operations
    spec = JobSpec("x", review=True, approvals=2)
    submission = await operations.submit("default", spec, by="development", key_id=FIRST_ID)
    lease = await front.claim(submission.record.id)
    done(await operations.pause(lease, Review("r1", ReviewKind.REVIEW, {"unproven": None}, 1)))
    async with people(front, "grace", "heidi") as clients:
        for client in (front.client, *clients):
            assert (await approve(client, lease.job_id))[:2] == (403, "own-approval")


async def test_a_key_that_was_made_for_another_person_cannot_approve(front):
    async with (
        people(front, "alice", "bob", "carol") as (alice, bob, carol),
        people(front, "x", "y", by=alice) as (first, second),
        people(front, "alice-2", by=alice, person="Alice") as (own_client,),
    ):
        job_id = await front.paused(approvals=2, by=bob)
        for client, name in ((first, "x"), (second, "y")):
            status, problem, detail = await approve(client, job_id)
            assert (status, problem) == (403, "own-approval")
            assert detail.startswith(f"alice made the key {name} for {name}: such a review")
            assert (await client.get("/jobs?waiting=me")).json()["total"] == 0
        assert (await approve(own_client, job_id))[0] == 202
        status, problem, detail = await approve(alice, job_id)
        assert (status, problem) == (409, "voted-already")
        assert detail.startswith("you, with the key alice-2, approved already")
        assert (await approve(carol, job_id))[0] == 202
        assert (await front.job(job_id))["status"] == "queued"
        single = await front.paused(by=bob)
        assert (await approve(first, single))[0] == 202, "one approval needs no other person"


async def test_work_of_a_key_counts_as_work_of_its_maker_too(front):
    async with (
        people(front, "alice", "bob", "carol") as (alice, bob, carol),
        people(front, "ci", by=alice) as (author,),
    ):
        job_id = await front.paused(approvals=2, by=author)
        assert (await approve(alice, job_id))[:2] == (403, "own-approval")
        assert (await approve(bob, job_id))[0] == (await approve(carol, job_id))[0] == 202


async def test_no_key_sends_a_message_while_the_approval_of_its_maker_counts(front):
    async with (
        people(front, "alice", "bob") as (alice, bob),
        people(front, "ci", by=alice) as (ci,),
    ):
        job_id = await front.paused(approvals=2, by=bob)
        path, message = f"/jobs/{job_id}/messages", {"text": "Also sort"}
        assert (await approve(alice, job_id))[0] == 202
        refused = await ci.post(path, json=message)
        assert (refused.status_code, refused.json()["type"]) == (409, "/problems/wrong-state")
        start = "alice made the key ci, so ci counts as alice, who approved the work"
        assert refused.json()["detail"].startswith(start)
        withdrawn = await alice.post(f"/jobs/{job_id}/review", json={"action": "withdraw"})
        assert withdrawn.status_code == 202
        assert (await ci.post(path, json=message)).status_code == 202
        assert (await approve(alice, job_id))[:2] == (403, "own-approval")


async def test_a_decision_does_not_count_if_its_key_was_revoked_while_its_body_arrived(front):
    job_id = await front.paused()
    async with people(front, "eve") as (eve,):
        key_id = (await eve.get("/keys/me")).json()["id"]

        async def body():
            yield b'{"action": '
            assert (await front.client.delete(f"/keys/{key_id}")).status_code == 204
            yield b'"approve"}'

        headers = {"Content-Type": "application/json"}
        answer = await eve.post(f"/jobs/{job_id}/review", content=body(), headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (401, "/problems/unauthorized")
    assert (await front.job(job_id))["status"] == "awaiting_review"


async def test_the_author_of_an_edit_cannot_approve_it_with_another_key(front):
    async with (
        people(front, "alice", "bob", "carol") as (alice, bob, carol),
        people(front, "bob-2", person="Bob") as (again,),
    ):
        job_id = await front.paused(approvals=2, by=alice)
        edit = {"action": "edit", "code": "print(1)"}
        assert (await bob.post(f"/jobs/{job_id}/review", json=edit)).status_code == 202
        lease = await front.claim(job_id)
        opened = Review("r2", ReviewKind.REVIEW, {"unproven": None}, 1)
        done(await front.services.operations.pause(lease, opened))
        for client in (bob, again, alice):
            assert (await approve(client, job_id))[:2] == (403, "own-approval")
        assert (await approve(carol, job_id))[0] == 202


async def test_the_authors_of_earlier_jobs_of_a_conversation_cannot_approve_a_follow_up(front):
    async with people(front, "ada", "bob", "carol", "dan") as (ada, bob, carol, dan):
        first = await front.submit(by=ada)
        lease = await front.claim(first)
        done(await front.services.operations.succeed(lease, RESULT, "done"))
        second = await front.submit(by=bob, conversation_id=first)
        await front.client.post(f"/jobs/{second}/cancel")
        third = await front.paused(approvals=2, by=carol, conversation_id=first)
        for client in (ada, bob, carol):
            assert (await approve(client, third))[:2] == (403, "own-approval")
            assert (await client.get("/jobs?waiting=me")).json()["total"] == 0
        assert (await approve(dan, third))[0] == 202


@pytest.mark.parametrize("way", ["follow_up", "rebase", "retry", "fork"])
async def test_no_author_of_earlier_work_can_approve_work_that_continues_it(front, way):
    """`bob` edits the earlier work after `carol` has submitted the follow-up."""
    operations = front.services.operations
    async with people(front, "ada", "bob", "carol", "dan") as (ada, bob, carol, dan):
        terms = {"approvals": 2, "repo": {"url": "https://git.example.org/team/app.git"}}
        first = await front.paused(by=ada, **terms)
        follow_up = {**terms, "review": True, "conversation_id": first}
        second = await front.submit(by=carol, **follow_up)
        refusal = await operations.claim(second, "worker-1")
        assert refusal.code == "waits_in_line"
        edit = {"action": "edit", "code": "print(1)"}
        assert (await bob.post(f"/jobs/{first}/review", json=edit)).status_code == 202
        lease = await front.claim(first)
        patch = PatchRef("a" * 64, 1, 1, 1, 1, "c" * 40)
        result = replace(RESULT, patch=patch, bundle="b" * 64)
        if way == "rebase":
            bundle = await front.services.blobs.put(b"bundle")
            await front.services.store.write(first, lease.epoch, Writes(blobs=[bundle]))
            result = replace(result, bundle=bundle)
        done(
            await operations.fail(lease, Reason.DELIVERY, "no branch", result)
            if way == "retry"
            else await operations.succeed(lease, result, "done")
        )
        if way != "follow_up":
            await front.client.post(f"/jobs/{second}/cancel")
            answer = await carol.post(f"/jobs/{first}/{way}")
            assert answer.status_code == 202, answer.text
            second = answer.json()["id"]
        opened = Review("r2", ReviewKind.REVIEW, {"unproven": None}, 1)
        done(await operations.pause(await front.claim(second), opened))
        for client in (ada, bob, carol):
            assert (await approve(client, second))[:2] == (403, "own-approval")
        assert (await approve(dan, second))[0] == 202


async def test_a_follow_up_on_work_of_the_first_key_cannot_need_other_persons(front):
    first = await front.submit()
    async with people(front, "ada", "bob") as (ada, bob):
        second = await front.submit(by=ada, conversation_id=first)
        request = {"task": "x", "review": True, "approvals": 2, "conversation_id": first}
        answer = await bob.post("/jobs", json=request)
        assert "submit a new job with a person's key" in (await refusal_of(answer))[1]
        await front.client.post(f"/jobs/{second}/cancel")
        assert (await bob.post("/jobs", json=request)).status_code == 422


async def test_persons_are_shown_with_the_keys_that_signed(front):
    async with (
        people(front, "ci", person="Alan Turing") as (author,),
        people(front, "laptop", person="Grace Hopper") as (grace,),
        people(front, "phone", person="Ada Lovelace") as (ada,),
    ):
        job_id = await front.paused(approvals=2, by=author)
        await approve(grace, job_id)
        job = await front.job(job_id)
        assert (job["submitted_by"], job["person"]) == ("ci", "Alan Turing")
        (vote,) = job["review"]["approvals"]
        assert (vote["by"], vote["person"]) == ("laptop", "Grace Hopper")
        await approve(ada, job_id)
    decision = (await front.job(job_id))["decisions"][0]
    assert (decision["by"], decision["person"]) == ("phone", "Ada Lovelace")
    assert decision["approvals"] == ["Grace Hopper", "Ada Lovelace"]
    exported = (await front.client.get("/decisions?format=csv")).text
    rows = list(csv.DictReader(io.StringIO(exported, newline="")))
    assert [(row["by"], row["person"]) for row in rows] == [
        ("laptop", "Grace Hopper"),
        ("phone", "Ada Lovelace"),
    ]
    record = (await front.services.store.load(job_id)).record
    assert record.decision.by == "Grace Hopper and Ada Lovelace", "what the result names"


async def test_waiting_jobs_are_listed_for_persons_who_may_decide(front):
    async with people(front, "ada", "grace") as (ada, grace):
        job_id = await front.paused(approvals=2, by=ada)
        assert (await ada.get("/jobs?waiting=me")).json()["total"] == 0, "their own job"
        job_list = (await grace.get("/jobs?waiting=me")).json()
        assert [job["id"] for job in job_list["jobs"]] == [job_id]
        review = job_list["jobs"][0]["review"]
        assert (review["approvals"], review["approvals_needed"]) == ([], 2)
        assert review["waiting_seconds"] >= 0
    async with front.with_key(await front.key("read", name="heidi")) as heidi:
        assert (await heidi.get("/jobs?waiting=me")).json()["total"] == 0, "she may not review"
    job_list = (await front.client.get("/jobs?text=add 1")).json()
    assert [job["id"] for job in job_list["jobs"]] == [job_id]
    assert (job_list["jobs"][0]["cost_usd"], job_list["jobs"][0]["kind"]) == ("0", "task")


async def test_decisions_are_exported_as_json_and_csv(front):
    job_id = await front.paused()
    review = (await front.job(job_id))["review"]
    words = '=HYPERLINK("x"), "quoted"\nand a second line'
    await decide(front, job_id, action="revise", feedback=words, digest=review["digest"])
    export = (await front.client.get("/decisions?from=2020-01-01&limit=5")).json()
    (decision,) = export["decisions"]
    assert (export["total"], decision["job_id"], decision["action"]) == (1, job_id, "revise")
    assert (decision["digest"], decision["digest_named"], decision["feedback"]) == (
        review["digest"],
        True,
        words,
    )
    assert decision["at"] == (await front.job(job_id))["decisions"][0]["at"]
    answer = await front.client.get("/decisions?format=csv")
    assert answer.headers["x-total-count"] == "1"
    (row,) = csv.DictReader(io.StringIO(answer.text, newline=""))
    assert (row["by"], row["feedback"]) == ("development", f"'{words}")
    later_query = {"from": decision["at"].replace("Z", "+00:00"), "to": "2020-01-01T00:00:00Z"}
    assert (await front.client.get("/decisions", params=later_query)).status_code == 422
    async with front.with_key(await front.key("admin", tenant="other")) as other_client:
        assert (await other_client.get("/decisions")).json()["total"] == 0


async def test_only_the_operator_sees_the_outbox(redis_url, tmp_path):
    hook = {"webhook_url": "http://127.0.0.1:1/", "webhook_secret": "whsec_" + "A" * 32}
    async with started(settings_for(redis_url, tmp_path, **hook)) as front:
        job_id = await front.paused()
        await asyncio.sleep(0.002)  # reports of different changes in the same millisecond
        await decide(front, job_id, action="approve")
        deliveries = (await front.client.get("/webhook-deliveries")).json()
        assert [message["type"] for message in deliveries["waiting"]] == [
            "review.opened",
            "review.decided",
        ]
        assert deliveries["waiting"][1]["data"]["by"] == "development"
        outbox = front.services.store.outbox
        for message in await outbox.lease(9, 1_000):
            await outbox.fail(message, "no", None)
        deliveries = (await front.client.get("/webhook-deliveries")).json()
        assert (deliveries["waiting_total"], deliveries["dead_total"]) == (0, 2)
        dead = deliveries["dead"][0]["id"]
        assert (await front.client.post(f"/webhook-deliveries/{dead}/retry")).status_code == 202
        assert (await front.client.post(f"/webhook-deliveries/{dead}/retry")).status_code == 404
        async with front.with_key(await front.key("admin", tenant="other")) as other_client:
            assert (await other_client.get("/webhook-deliveries")).status_code == 403


async def test_the_critic_cannot_decide_if_a_delivery_needs_a_person(redis_url, tmp_path):
    settings = settings_for(redis_url, tmp_path, deliver_needs_review=True)
    repo = {"url": "https://git.example.org/team/app.git"}
    fields = {"repo": repo, "deliver": {"branch": True}}
    async with started(settings) as front:
        answer = await front.client.post("/jobs", json={"task": "x", **fields})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "review")
        job_id = await front.paused(**fields)
        assert "delegate" not in (await front.job(job_id))["review"]["actions"]
        assert "delegate" in (await front.job(await front.paused()))["review"]["actions"]
        answer = await decide(front, job_id, action="delegate")
        assert (answer.status_code, answer.json()["type"]) == (
            409,
            "/problems/decision-not-offered",
        )
        assert (await decide(front, job_id, action="approve")).status_code == 202


async def test_a_retry_follows_the_present_policy(redis_url, tmp_path):
    repo = {"url": "https://git.example.org/team/app.git"}
    async with started(settings_for(redis_url, tmp_path)) as front:
        async with people(front, "grace") as (grace,):
            unreviewed = await front.submit(repo=repo, deliver={"branch": True}, by=grace)
            single = await front.submit(review=True, by=grace)
        for job_id in (unreviewed, single):
            await front.client.post(f"/jobs/{job_id}/cancel")
    settings = settings_for(redis_url, tmp_path, deliver_needs_review=True, review_approvals=2)
    async with started(settings) as front:
        async with people(front, "ada") as (ada,):
            answer = await ada.post(f"/jobs/{unreviewed}/retry")
            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "review")
            answer = await ada.post(f"/jobs/{unreviewed}/retry", json={"review": True})
            assert answer.status_code == 202
            again = await ada.post(f"/jobs/{single}/retry")
        assert (await front.job(again.json()["id"]))["spec"]["approvals"] == 2


RULES = """\
[[rule]]
name = "payments"
labels = ["payments"]
approvers = ["Grace Hopper"]
override = false
remark = true
"""


async def test_a_review_rule_is_shown_enforced_and_on_record(redis_url, tmp_path):
    (tmp_path / "review.toml").write_text(RULES)
    settings = settings_for(redis_url, tmp_path, review_policy=str(tmp_path / "review.toml"))
    approval = {"action": "approve", "feedback": "I have read it"}
    async with (
        started(settings) as front,
        people(front, "ada", "heidi") as (ada, heidi),
        people(front, "laptop", person="Grace Hopper") as (grace,),
    ):
        labels = {"labels": ["payments"]}
        first_key = await front.client.post("/jobs", json={"task": "x", **labels})
        assert "by the rule 'payments', other persons" in (await refusal_of(first_key))[1]
        unreviewed = await front.job(await front.submit(by=ada, **labels))
        assert unreviewed["spec"]["review"]
        rules = {
            "names": ["payments"],
            "conditions": ["label payments"],
            "approvers": [["Grace Hopper"]],
        }
        assert unreviewed["spec"]["review_rules"] == {**rules, "override": False, "remark": True}
        red = await front.paused(by=ada, succeeded=False, **labels)
        body = {**approval, "override": True}
        refused = await grace.post(f"/jobs/{red}/review", json=body)
        assert (refused.status_code, refused.json()["type"]) == (403, "/problems/review-rule")
        assert "the rule 'payments' allows no approval against" in refused.json()["detail"]
        job_id = await front.paused(by=ada, **labels)
        for client, problem in ((ada, "own-approval"), (heidi, "review-rule")):
            assert (await approve(client, job_id))[:2] == (403, problem)
        answer = await grace.post(f"/jobs/{job_id}/review", json={"action": "approve"})
        field, message = await refusal_of(answer)
        assert (field, message) == (
            "feedback",
            "by the rule 'payments', each approval needs a remark",
        )
        assert (await grace.post(f"/jobs/{job_id}/review", json=approval)).status_code == 202
        assert (await front.job(job_id))["decisions"][0]["rules"] == ["payments"]
        entries = (await front.client.get("/audit")).text
        assert '"rules":["payments"]' in entries
        rows = (await front.client.get("/decisions")).json()["decisions"]
        assert rows[-1]["rules"] == "payments"
        unruled = await front.paused(by=ada)
        assert (await approve(ada, unruled))[0] == 202


async def reviewed_files(front, **files):
    """A job that waits for a decision, with these files in its workspace. Returns its id."""
    return await front.paused(files={name.replace("__", "."): text for name, text in files.items()})


def suggests(line, *lines, path="a.py", **more):
    """A comment that suggests lines."""
    return {"path": path, "line": line, "text": "\n".join(["```suggestion", *lines, "```"]), **more}


async def edited_files(front, job_id):
    """The files of the last decision, as texts by path."""
    event = [
        event for event in await front.services.store.events(job_id) if event.kind == "decided"
    ][-1]
    assert event.data["by"] == "development"
    return {
        path: digest and (await front.services.blobs.get(digest)).decode()
        for path, digest in event.data["files"].items()
    }


async def test_an_edit_has_the_files_that_it_changes_and_keeps_their_bytes(front):
    job_id = await reviewed_files(front, a__py="a = 1\n", b__py="b = 1\n", c__py="c = 1\n")
    files = {"./a.py": "a = 2\n", "b.py": "b = 1\n", "c.py": None, "d/é.py": ""}
    answer = await decide(front, job_id, action="edit", files=files)
    assert (answer.status_code, answer.json()["status"]) == (202, "queued"), answer.text
    assert await edited_files(front, job_id) == {"a.py": "a = 2\n", "c.py": None, "d/é.py": ""}
    record = (await front.services.store.load(job_id)).record
    referenced = await front.services.store.redis.smembers(f"fettle:job:{job_id}:blobs")
    assert {digest.encode() for digest in record.decision.files.values() if digest} <= referenced
    assert record.authors[-1].name == "development"
    log = (await front.client.get("/audit")).text
    assert all(digest in log for digest in filter(None, record.decision.files.values()))
    assert (await front.job(job_id))["decisions"][0]["files"] == dict(record.decision.files)


async def test_suggestions_become_an_edit(front):
    job_id = await reviewed_files(front, a__py="a = 1\nb = 1\nc = 1\n", b__py="one\n")
    comments = [suggests(3, "c = 2"), suggests(1), suggests(1, "two", path="b.py")]
    assert (await decide(front, job_id, action="edit", comments=comments)).status_code == 202
    assert await edited_files(front, job_id) == {"a.py": "b = 1\nc = 2\n", "b.py": "two\n"}
    assert (await front.job(job_id))["decisions"][0].get("comments") is None


@pytest.mark.parametrize(
    ("comments", "message"),
    [
        ([suggests(9, "x")], "the file has 1 lines, so it has no line 9"),
        ([suggests(1, "x"), suggests(1, "y")], "two suggestions replace line 1"),
        ([suggests(1, "x", side="old")], "a suggestion is on a line after the change"),
        ([suggests(1, "x", path="b.py")], "b.py: the work has no text file"),
        ([suggests(1, "a = 1")], "the edit changes no file"),
    ],
)
async def test_a_suggestion_that_does_not_apply_is_named(front, comments, message):
    job_id = await reviewed_files(front, a__py="a = 1\n")
    answer = await decide(front, job_id, action="edit", comments=comments)
    assert (answer.status_code, message in answer.text) == (422, True), answer.text
    assert (await front.job(job_id))["status"] == "awaiting_review"


async def test_files_of_an_edit_have_the_limits_of_submitted_files(redis_url, tmp_path):
    limits = {"max_files": 2, "max_files_bytes": 2_000_000}
    async with started(settings_for(redis_url, tmp_path, **limits)) as front:
        job_id = await front.paused()
        for files in ({"a": "", "b": "", "c": ""}, {"a": "x" * 2_000_001}):
            answer = await decide(front, job_id, action="edit", files=files)
            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "files")
        files = {"a": "x" * 1_500_000}  # more than FETTLE_MAX_BODY_BYTES
        assert (await decide(front, job_id, action="edit", files=files)).status_code == 202


async def test_the_retry_of_an_undelivered_change_names_its_approvals(front):
    job_id = await front.paused()
    await decide(front, job_id, action="approve", feedback="read")
    approved = Result("42", "development")
    for _ in range(2):
        lease = await front.claim(job_id)
        fail = front.services.operations.fail(lease, Reason.DELIVERY, "no access", approved)
        done(await fail)
        (approval,) = (await front.job(job_id))["result"]["approvals"]
        assert (approval["by"], approval["feedback"]) == ("development", "read")
        job_id = (await front.client.post(f"/jobs/{job_id}/retry")).json()["id"]
    total = (await front.client.get("/decisions")).json()["total"]
    assert total == 1, "a retry is no decision"


async def test_a_claim_is_on_record_and_any_reviewer_may_decide_nevertheless(front):
    async with people(front, "ada", "grace") as (ada, grace):
        job_id = await front.paused()
        claim, mine = f"/jobs/{job_id}/review/claim", "/jobs?waiting=mine"
        assert (await ada.post(claim, json={})).status_code == 200
        assert (await front.job(job_id))["review"]["assignee"] == "ada"
        (listed,) = (await ada.get(mine)).json()["jobs"]
        assert listed["review"]["assignee"] == "ada"
        assert (await grace.get(mine)).json()["total"] == 0
        assert (await ada.post(claim, json={"assignee": " GRACE"})).status_code == 200
        assert (await grace.get(mine)).json()["total"] == 1, "a person has several spellings"
        unknown = await ada.post(claim, json={"assignee": "gracie"})
        assert unknown.status_code == 422
        assert "'gracie'" in unknown.json()["errors"][0]["message"]
        kinds = [json.loads(line) for line in (await front.client.get("/audit")).text.splitlines()]
        claims = [entry for entry in kinds if entry["kind"] == "review_assigned"]
        assert [(entry["actor"]["person"], entry["data"]["assignee"]) for entry in claims] == [
            ("ada", "ada"),
            ("ada", "grace"),
        ]
        await decide(front, job_id, action="revise", feedback="Once more.")
        closed = await grace.post(claim, json={"assignee": ""})
        assert (closed.status_code, closed.json()["type"]) == (409, "/problems/no-open-review")
        lease = await front.claim(job_id)
        now = await front.services.store.now()
        done(await front.services.operations.pause(lease, Review("r2", ReviewKind.REVIEW, {}, now)))
        assert (await grace.get(mine)).json()["total"] == 1, "the next revision is hers, too"
        assert (await grace.post(claim, json={"assignee": ""})).status_code == 200
        assert (await grace.get(mine)).json()["total"] == 0
        keys = (await front.client.get("/keys")).json()["keys"]
        ids = {key["name"]: key["id"] for key in keys}
        assert (await grace.post(claim, json={})).status_code == 200
        await front.key("review", name="grace 2", person="grace")
        assert (await front.client.delete(f"/keys/{ids['grace']}")).status_code == 204
        assert (await front.job(job_id))["review"]["assignee"] == "grace", "she has another key"
        keys = (await front.client.get("/keys")).json()["keys"]
        (other_id,) = (key["id"] for key in keys if key["name"] == "grace 2")
        assert (await front.client.delete(f"/keys/{other_id}")).status_code == 204
        assert (await front.job(job_id))["review"]["assignee"] == ""
        assert (await ada.post(claim, json={"assignee": "grace"})).status_code == 422
    async with front.with_key(await front.key("read", name="heidi")) as heidi:
        assert (await heidi.post(claim, json={})).status_code == 403
