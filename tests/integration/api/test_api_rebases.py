"""A rebase over HTTP: the spec of the new job, its inputs, and the refusals."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from support.pages.api_front import RESULT, done, settings_for, started

from api.schemas.job import Job
from jobs.model.record import PatchRef, Push, Reason
from jobs.model.spec import Deliver, EarlierChange, Repo
from jobs.retention import Retention, remove_unreferenced
from jobs.store import Writes

AT_ONCE = Retention(jobs_ms=-1, grace_ms=-1)
URL = "https://git.example.org/team/app.git"
BASE = "c0ffee" + "0" * 34
BUNDLE = b"# v2 git bundle\n-c0ffee\n\nPACK"
DIGEST = hashlib.sha256(BUNDLE).hexdigest()
MOVED = Push("fettle/j", "d" * 40, base="main", base_moved=True)


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def changed(front, *, result=RESULT, reason=None, client=None, repo=None, **fields):
    """A job that has ended with a change of its repository."""
    request = {"task": "fix it", "repo": repo or {"url": URL}, **fields}
    job_id = (await (client or front.client).post("/jobs", json=request)).json()["id"]
    lease = await front.claim(job_id)
    bundle_digest = await front.services.blobs.put(BUNDLE)
    await front.services.store.write(job_id, lease.epoch, Writes(blobs=[bundle_digest]))
    result = replace(result, patch=PatchRef("a" * 64, 1, 1, 1, 1, BASE), bundle=bundle_digest)
    operations = front.services.operations
    done(
        await operations.fail(lease, reason, "declined", result)
        if reason
        else await operations.succeed(lease, result, "changed")
    )
    return job_id


async def rebased(front, job_id, **headers):
    return await front.client.post(f"/jobs/{job_id}/rebase", headers=headers)


async def refused(front, job_id):
    answer = await rebased(front, job_id)
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/wrong-state")
    return answer.json()["detail"]


async def test_a_rebase_is_a_job_with_the_same_terms_that_starts_from_the_change(front):
    terms = {"verify": ["pytest", "-q"], "setup": "make deps", "review": True, "labels": ["l"]}
    terms |= {"max_cost_usd": "2", "timeout_seconds": 60, "model": "groq:x", "max_revisions": 1}
    first = await changed(
        front, **terms, deliver={"pull_request": True}, steps=["one"], questions=True
    )
    answer = await rebased(front, first)
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")
    job_id = answer.json()["id"]
    assert answer.headers["location"] == f"/jobs/{job_id}" != f"/jobs/{first}"
    job = await front.job(job_id)
    Job.model_validate(job)
    assert {name: job["spec"][name] for name in terms} == terms
    without_branch = {"branch": None, "root": None, "upload": None}
    change = {"job_id": first, "bundle": DIGEST, "base": BASE}
    assert job["spec"]["rebase"] == {**change, **without_branch}
    assert (job["conversation_id"], job["spec"]["retry_of"]) == (first, None)
    record = (await front.services.store.load(job_id)).record
    assert (record.spec.repo, record.spec.deliver) == (Repo(URL), Deliver(pull_request=True))
    assert (record.spec.steps, record.spec.questions, record.inherits) == ((), False, None)
    (event,) = await front.services.store.events(job_id)
    assert (event.data["rebase_of"], event.data["task"]) == (first, "fix it")


async def test_a_rebase_targets_the_branch_of_the_delivery(front):
    at_commit = await changed(
        front, result=replace(RESULT, delivery=MOVED), repo={"url": URL, "ref": BASE}
    )
    unknown = await changed(front, reason=Reason.DELIVERY, repo={"url": URL, "ref": "dev"})
    refs = []
    for job_id in (at_commit, unknown):
        rebase_id = (await rebased(front, job_id)).json()["id"]
        refs.append((await front.job(rebase_id))["spec"]["repo"]["ref"])
    assert refs == ["main", "dev"]


async def test_the_change_is_kept_as_long_as_the_new_job(front):
    first = await changed(front, files={"a.env": "1"})
    job_id = (await rebased(front, first)).json()["id"]
    assert (await front.client.delete(f"/jobs/{first}")).status_code == 204
    await remove_unreferenced(front.services.store, front.services.blobs, AT_ONCE)
    assert await front.services.blobs.get(DIGEST) == BUNDLE
    assert (await front.job(job_id))["spec"]["rebase"]["bundle"] == DIGEST
    assert (await rebased(front, first)).status_code == 404
    await front.client.post(f"/jobs/{job_id}/cancel")
    retry_job = (await front.client.post(f"/jobs/{job_id}/retry")).json()["id"]
    spec = (await front.services.store.load(retry_job)).record.spec
    assert (spec.retry_of, spec.rebase) == (job_id, EarlierChange(first, DIGEST, BASE))


async def test_a_rebase_needs_a_review_if_the_present_policy_requires_one(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        first = await changed(front, deliver={"branch": True})
    settings = settings_for(redis_url, tmp_path, deliver_needs_review=True)
    async with started(settings) as front:
        answer = await rebased(front, first)
        assert answer.status_code == 202, answer.text
        assert (await front.job(answer.json()["id"]))["spec"]["review"]


async def test_a_repeated_request_is_the_same_rebase(front):
    first, second = await changed(front), await changed(front)
    key = {"Idempotency-Key": "once"}
    answer, again = [await rebased(front, first, **key) for _ in range(2)]
    assert (answer.json()["id"], again.status_code) == (again.json()["id"], 202)
    assert again.headers["idempotency-replayed"] == "true"
    reused = await rebased(front, second, **key)
    assert reused.json()["type"] == "/problems/idempotency-key-reused"


async def test_a_job_that_cannot_be_rebased_names_the_reason(front):
    plain = await front.submit()
    assert "the job is queued" in await refused(front, plain)
    await front.finish(plain)
    assert "no change of a repository" in await refused(front, plain)
    unapproved = replace(RESULT, approved_by=None)
    failed = await changed(front, result=unapproved, reason=Reason.UNAPPROVED)
    assert "has no approval" in await refused(front, failed)


async def test_an_uploaded_repository_is_rebased_by_its_owner(front):
    parts = [
        ("job", (None, '{"task": "fix it"}')),
        ("bundle", ("app.bundle", BUNDLE)),
    ]
    job_id = (await front.client.post("/jobs", files=parts)).json()["id"]
    lease = await front.claim(job_id)
    result = replace(RESULT, patch=PatchRef("a" * 64, 1, 1, 1, 1, BASE), bundle=DIGEST)
    done(await front.services.operations.succeed(lease, result, "changed"))
    detail = await refused(front, job_id)
    assert "was uploaded" in detail
    assert f"`fettle apply {job_id}`" in detail
    assert f"GET /jobs/{job_id}/bundle" in detail


async def test_a_change_whose_bytes_are_lost_makes_no_job(front):
    first = await changed(front)
    await front.services.blobs.remove(DIGEST)
    answer = await rebased(front, first)
    assert (answer.status_code, answer.json()["type"]) == (500, "/problems/bytes-missing")
    assert (await front.client.get("/jobs")).json()["total"] == 1


async def test_another_tenant_and_a_read_only_key_cannot_rebase(front):
    first = await changed(front)
    for scopes, tenant, status in ((("submit",), "other", 404), (("read",), "default", 403)):
        secret = await front.key(*scopes, tenant=tenant, name=tenant)
        async with front.with_key(secret) as stranger:
            answer = await stranger.post(f"/jobs/{first}/rebase")
            assert answer.status_code == status


async def test_the_author_of_the_change_cannot_approve_its_rebase(front):
    async with front.with_key(await front.key("submit", "review")) as ada:
        first = await changed(front, client=ada, review=True, approvals=2)
    async with front.with_key(await front.key("submit", name="grace")) as grace:
        rebase_id = (await grace.post(f"/jobs/{first}/rebase")).json()["id"]
    record = (await front.services.store.load(rebase_id)).record
    assert [person.name for person in record.authors] == ["ada"]
    assert record.submitted_by == "grace"
