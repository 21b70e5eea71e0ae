"""Forks over HTTP: a job that runs again as a new job, and the comparison of both."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.pages.api_front import RESULT, charge, done, settings_for, started
from support.pages.pages_browser import visiting

from api.schemas.job import Job
from api.schemas.outcome import Comparison
from jobs.blobs import manifest
from jobs.blobs.manifest import Manifest
from jobs.model.record import Continuation, PatchRef, Reason
from jobs.model.spec import EarlierChange
from jobs.retention import Retention, remove_unreferenced
from jobs.store import Writes

MODIFIED = b"""diff --git a/%b b/%b
--- a/%b
+++ b/%b
@@ -1 +1 @@
-old
+new
"""
AT_ONCE = Retention(jobs_ms=-1, grace_ms=-1)
BASE = "c0ffee" + "0" * 34
VERIFIED = {
    "source": "job",
    "command": "pytest -q",
    "run": "r1",
    "holds": True,
    "problem": None,
    "experiments": [],
}


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def ended(front, job_id, *revisions, base=None, result=RESULT):
    """End a job whose revisions left these files, {path: bytes} each."""
    lease = await front.claim(job_id)
    for number, files in enumerate(revisions, 1):
        workspace = Manifest(
            (await manifest.load(front.services.blobs, await save(front, files))).files, base=base
        )
        digest = await front.services.blobs.put(workspace.dump())
        digests = [digest, *(entry.digest for entry in workspace.files.values())]
        data = {**VERIFIED, "revision": number, "workspace": digest}
        await front.add_events(lease, ("verified", data), workspace=digest, blobs=digests)
        lease = await reclaimed(front, lease)
    done(await front.services.operations.succeed(lease, result, "done"))


async def reclaimed(front, lease):
    """The lease of the next attempt: an attempt appends each of its events once."""
    done(await front.services.operations.requeue(lease, "drained", "stopping"))
    return await front.claim(lease.job_id)


async def save(front, files):
    return await manifest.save(front.services.blobs, files)


async def forked(front, job_id, client=None, **changes):
    answer = await (client or front.client).post(f"/jobs/{job_id}/fork", json=changes or None)
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


async def files_of(front, job_id, at="start"):
    listed = (await front.client.get(f"/jobs/{job_id}/files", params={"at": at})).json()["files"]
    return {file["path"]: (await front.client.get(file["href"])).text for file in listed}


async def test_a_fork_is_a_job_of_its_own_that_starts_from_the_same_files(front):
    terms = {"model": "groq:x", "labels": ["l"], "verify": ["pytest"], "steps": ["one"]}
    first = await front.submit("fix it", files={"a.py": "1"}, **terms)
    await ended(front, first, {"a.py": b"2", "b.py": b"new"})
    again = await forked(front, first, model="groq:y", max_cost_usd="2")
    job = Job.model_validate(await front.job(again))
    assert (job.spec.task, job.spec.labels, job.spec.steps) == ("fix it", ["l"], ["one"])
    assert (job.spec.model, job.spec.max_cost_usd) == ("groq:y", "2")
    assert (job.spec.fork_of, job.spec.retry_of, job.conversation_id) == (first, None, again)
    assert await files_of(front, again) == {"a.py": "1"}
    (event,) = await front.services.store.events(again)
    assert event.data["fork_of"] == first
    assert (await front.job(first))["status"] == "succeeded"


async def test_a_fork_may_start_from_the_files_of_a_revision(front):
    first = await front.submit("fix it", files={"a.py": "1", "old.py": "x"}, steps=["one"])
    await ended(front, first, {"a.py": b"2"}, {"a.py": b"3", "b.py": b"new"})
    starts = [
        await files_of(front, await forked(front, first, revision=revision)) for revision in (1, 2)
    ]
    assert starts == [{"a.py": "2"}, {"a.py": "3", "b.py": "new"}]
    other = await forked(front, first, revision=1, prompt="now add tests")
    spec = (await front.job(other))["spec"]
    assert (spec["task"], spec["steps"]) == ("now add tests", [])
    answer = await front.client.post(f"/jobs/{first}/fork", json={"revision": 3})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "revision")
    assert answer.json()["errors"][0]["message"] == "the job has ended 2 revisions"


async def test_a_fork_outlives_its_original(front):
    first = await front.submit("fix it", files={"a.py": "1"})
    await ended(front, first, {"a.py": b"two"})
    again = await forked(front, first, revision=1)
    assert (await front.client.delete(f"/jobs/{first}")).status_code == 204
    await remove_unreferenced(front.services.store, front.services.blobs, AT_ONCE)
    assert await files_of(front, again) == {"a.py": "two"}


async def test_a_fork_of_a_follow_up_has_the_files_of_the_earlier_jobs(front):
    first = await front.submit("begin", files={"a.py": "1"})
    await ended(front, first, {"a.py": b"2", "b.py": b"new"})
    follow_up = await front.submit("go on", conversation_id=first, files={"c.py": "3"})
    again = await forked(front, follow_up)
    assert await files_of(front, again) == {"a.py": "2", "b.py": "new", "c.py": "3"}
    await front.claim(again)  # it waits for no job of the conversation


async def test_a_fork_of_a_failed_follow_up_has_the_files_of_the_earlier_jobs(front):
    first = await front.submit("begin", files={"a.py": "1"})
    await ended(front, first, {"a.py": b"2"})
    failed = await front.submit("go on", conversation_id=first, files={"c.py": "3"})
    lease = await front.claim(failed)
    done(await front.services.operations.fail(lease, Reason.INTERNAL, "broken"))
    await ended(front, await front.submit("again", conversation_id=first), {"d.py": b"4"})
    assert await files_of(front, await forked(front, failed)) == {"a.py": "2", "c.py": "3"}


async def test_a_fork_has_the_files_of_a_start_after_the_earlier_job_is_deleted(front):
    first = await front.submit("begin", files={"a.py": "1"})
    await ended(front, first, {"a.py": b"2"})
    follow_up = await front.submit("go on", conversation_id=first, files={"c.py": "3"})
    lease = await front.claim(follow_up)
    start = await save(front, {"a.py": b"2", "c.py": b"3"})  # as a worker stores it
    entries = (await manifest.load(front.services.blobs, start)).files.values()
    digests = [start, *(entry.digest for entry in entries)]
    await front.services.store.write(
        follow_up, lease.epoch, Writes(start=start, workspace=start, blobs=digests)
    )
    done(await front.services.operations.fail(lease, Reason.INTERNAL, "broken"))
    again = (await front.client.post(f"/jobs/{follow_up}/retry")).json()["id"]
    for job_id in (first, follow_up):
        assert (await front.client.delete(f"/jobs/{job_id}")).status_code == 204
        await remove_unreferenced(front.services.store, front.services.blobs, AT_ONCE)
        origin = follow_up if job_id == first else again
        fork = await forked(front, origin)
        assert await files_of(front, fork) == {"a.py": "2", "c.py": "3"}, job_id


async def test_a_derived_verification_takes_no_terms_without_an_effect(front):
    checks = {"files": {"test_a.py": "def test_a(): pass\n"}}
    answer = await front.client.post("/verifications", json={"files": {}, "checks": checks})
    job_id = answer.json()["id"]
    terms = {"model": "groq:x", "review": True, "max_cost_usd": "1"}
    for path, sent in (("fork", {**terms, "prompt": "do it"}), ("retry", terms)):
        answer = await front.client.post(f"/jobs/{job_id}/{path}", json=sent)
        assert answer.status_code == 422, answer.text
        assert {error["field"] for error in answer.json()["errors"]} == sent.keys()
    again = await forked(front, job_id, run_seconds=4, timeout_seconds=5, checks=checks)
    spec = (await front.job(again))["spec"]
    assert (spec["run_seconds"], spec["timeout_seconds"]) == (4, 5)


async def test_a_fork_of_a_benchmark_asks_no_person(front):
    checks = {"files": {"test_a.py": "def test_a(): pass\n"}}
    files = {"mine.jsonl": '{"id": "f", "task": "Write f.", "tests": "import solution"}\n'}
    fields = {"benchmark": {"set": "file"}, "files": files, "model": "groq:x"}
    job_id = await front.submit("Measure it.", **fields)
    for sent in ({"review": True}, {"prompt": "do it"}, {"checks": checks}):
        answer = await front.client.post(f"/jobs/{job_id}/fork", json=sent)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, *sent)
    fork = await forked(front, job_id, run_seconds=4)
    assert (await front.job(fork))["spec"]["run_seconds"] == 4


async def test_a_fork_of_a_fork_has_its_links_and_removed_files(front):
    repo = {"url": "https://git.example.org/team/app.git"}
    first = await front.submit("fix it", repo=repo)
    lease = await front.claim(first)
    left = Manifest({}, frozenset({"old.py"}), BASE, {"link": "a.py"})
    digest = await front.services.blobs.put(left.dump())
    data = {**VERIFIED, "revision": 1, "workspace": digest}
    await front.add_events(lease, ("verified", data), workspace=digest, blobs=[digest])
    fork = await forked(front, await forked(front, first, revision=1))
    record = (await front.services.store.load(fork)).record
    assert await manifest.load(front.services.blobs, record.spec.workspace) == left


async def test_a_fork_of_a_second_retry_on_a_repository_has_no_files_of_the_first(front):
    repo = {"url": "https://git.example.org/team/app.git"}
    first = await front.submit("fix it", repo=repo)
    lease = await front.claim(first)
    done(await front.services.operations.fail(lease, Reason.INTERNAL, "broken"))
    retries = [(await front.client.post(f"/jobs/{first}/retry")).json()["id"] for _ in range(2)]
    for retry in retries:
        await ended(front, retry, {"a.py": b"2"}, base=BASE)
    assert await files_of(front, await forked(front, retries[1])) == {}


async def test_a_fork_on_a_repository_starts_from_the_same_commit(front):
    repo = {"url": "https://git.example.org/team/app.git", "ref": "main"}
    first = await front.submit("fix it", repo=repo)
    await ended(front, first, {"a.py": b"2"}, base=BASE)
    for changes, files in (({}, []), ({"revision": 1}, ["a.py"])):
        record = (await front.services.store.load(await forked(front, first, **changes))).record
        start = await manifest.load(front.services.blobs, record.workspace)
        assert (start.base, list(start.files), record.spec.repo.ref) == (BASE, files, "main")


async def test_a_fork_of_a_revision_continues_the_change_that_its_original_continued(front):
    repo = {"url": "https://git.example.org/team/app.git"}
    first = await front.submit("begin", repo=repo)
    await ended(front, first, base=BASE)
    follow_up = await front.submit("go on", conversation_id=first)
    lease = await front.claim(follow_up)
    digest = await front.services.blobs.put(Manifest(base=BASE).dump())
    change = EarlierChange(first, digest, "a" * 40, branch="fettle/j0")
    start = Continuation(change, digest, "b" * 40, "c" * 40, "fettle/j0", conflicts=("a.py",))
    data = {**VERIFIED, "revision": 1, "workspace": digest}
    await front.add_events(
        lease, ("verified", data), workspace=digest, blobs=[digest], continues=start
    )
    fork = (await front.services.store.load(await forked(front, follow_up, revision=1))).record
    assert fork.continues == replace(start, branch=None)


async def test_a_follow_up_on_a_repository_can_be_forked_when_it_has_begun(front):
    repo = {"url": "https://git.example.org/team/app.git"}
    first = await front.submit("begin", repo=repo)
    follow_up = await front.submit("go on", conversation_id=first)
    answer = await front.client.post(f"/jobs/{follow_up}/fork")
    assert (answer.status_code, answer.json()["type"]) == (409, "/problems/wrong-state")
    assert "fork it later" in answer.json()["detail"]
    await ended(front, first, base=BASE)
    await ended(front, follow_up, {}, base=BASE)
    await forked(front, follow_up)


async def test_a_fork_may_have_other_checks(front):
    first = await front.submit("fix it", checks={"files": {"test_a.py": "def test(): pass\n"}})
    same, other = (
        await forked(front, first),
        await forked(front, first, checks={"files": {"test_b.py": "def test(): pass\n"}}),
    )
    assert list(await files_of(front, same, "checks")) == ["test_a.py"]
    assert list(await files_of(front, other, "checks")) == ["test_b.py"]
    on_repository = await front.submit("fix", repo={"url": "https://git.example.org/a.git"})
    again = await forked(front, on_repository, checks={"files": {"test_a.py": "x"}})
    assert list(await files_of(front, again, "checks")) == ["test_a.py"]


async def test_a_repeated_request_is_the_same_fork(front):
    first = await front.submit()
    path, headers = f"/jobs/{first}/fork", {"Idempotency-Key": "once"}
    answer, again = [await front.client.post(path, headers=headers) for _ in range(2)]
    assert (answer.json()["id"], again.status_code) == (again.json()["id"], 202)
    other = await front.client.post(path, headers=headers, json={"prompt": "x"})
    assert other.json()["type"] == "/problems/idempotency-key-reused"


async def test_the_author_of_the_original_cannot_approve_its_fork(front):
    async with front.with_key(await front.key("submit", "review")) as ada:
        first = await front.submit(by=ada, review=True, approvals=2)
    async with front.with_key(await front.key("submit", name="grace")) as grace:
        again = await forked(front, first, grace)
    record = (await front.services.store.load(again)).record
    assert ([person.name for person in record.authors], record.submitted_by) == (["ada"], "grace")


async def test_another_tenant_and_a_read_only_key_cannot_fork(front):
    first = await front.submit()
    for scopes, tenant, status in ((("submit",), "other", 404), (("read",), "default", 403)):
        async with front.with_key(await front.key(*scopes, tenant=tenant, name=tenant)) as stranger:
            assert (await stranger.post(f"/jobs/{first}/fork")).status_code == status


async def compared(front, *job_ids):
    answer = await front.client.get("/compare", params={"jobs": ",".join(job_ids)})
    assert answer.status_code == 200, answer.text
    return Comparison.model_validate(answer.json())


async def test_jobs_are_compared_by_outcome_and_files(front):
    first = await front.submit("fix it", files={"same.py": "s", "a.py": "1\n"}, model="groq:x")
    again, third = await forked(front, first, model="groq:y"), await forked(front, first)
    lease = await front.claim(first)
    await front.add_events(lease, charges=[charge("c1", "executor", "0.5")])
    await reclaimed(front, lease)
    await ended(front, again, {"same.py": b"s", "a.py": b"2\n", "b.py": b"new\n"})
    comparison = await compared(front, first, again, third)
    assert [(job.id, job.model) for job in comparison.jobs] == [
        (first, "groq:x"),
        (again, "groq:y"),
        (third, "groq:x"),
    ]
    assert [(job.cost.calls, job.cost.cost_usd) for job in comparison.jobs][:2] == [
        (1, "0.5"),
        (0, "0"),
    ]
    assert [job.status for job in comparison.jobs] == ["running", "succeeded", "queued"]
    differing, same = comparison.differences
    assert (differing.job_id, [file.path for file in differing.files]) == (again, ["a.py", "b.py"])
    assert "-1\n+2\n" in differing.files[0].diff
    assert differing.files[1].notes == ["new"]
    assert (same.job_id, same.files, same.problem) == (third, [], "")


async def on_repository(front, changes, base=BASE):
    """A job that has ended, with a patch of these files: {path: bytes}."""
    repo = {"url": "https://git.example.org/team/app.git"}
    job_id = await front.submit("fix it", repo=repo)
    patch = b"".join(MODIFIED % ((path.encode(),) * 4) for path in sorted(changes))
    digest = await front.services.blobs.put(patch)
    result = replace(RESULT, patch=PatchRef(digest, len(patch), 1, 1, 1, base))
    await ended(front, job_id, changes, base=base, result=result)
    return job_id


async def test_jobs_on_one_commit_are_compared_by_the_files_that_they_changed(front):
    first = await on_repository(front, {"both.py": b"one\n", "first.py": b"x", "same.py": b"s"})
    other = await on_repository(front, {"both.py": b"two\n", "other.py": b"y", "same.py": b"s"})
    (difference,) = (await compared(front, first, other)).differences
    assert [(file.path, file.unread) for file in difference.files] == [
        ("both.py", ""),
        ("first.py", "only the first job changes it"),
        ("other.py", ""),
    ]
    assert "-one\n+two\n" in difference.files[0].diff
    assert "-old\n+new\n" in difference.files[2].diff
    elsewhere = await on_repository(front, {"both.py": b"two\n"}, base="d" * 40)
    (difference,) = (await compared(front, first, elsewhere)).differences
    assert (difference.files, difference.problem) == ([], "the jobs work on different commits")


async def test_only_jobs_of_the_tenant_are_compared(front):
    first, other = await front.submit(), await front.submit()
    async with front.with_key(await front.key("read", tenant="acme")) as stranger:
        answer = await stranger.get("/compare", params={"jobs": f"{first},{other}"})
        assert answer.status_code == 404
        assert first in answer.json()["detail"]
    same = (f"{first},{first}", f"{first},{other},{first}")
    for jobs in (first, f"{first},nothing", ",".join([first] * 7), "", *same):
        answer = await front.client.get("/compare", params={"jobs": jobs})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "jobs"), jobs


async def test_the_page_compares_a_fork_with_its_original(front):
    first = await front.submit("fix <b>", files={"a.py": "1\n"})
    again = await forked(front, first)
    await ended(front, again, {"a.py": b"<b>\n"})
    async with visiting(front.app) as visit:
        path = f"/app/compare?jobs={first},{again}"
        assert f'href="{path}"' in (await visit.get(f"/app/jobs/{again}")).text
        html = (await visit.get(path)).text
        assert "fix &lt;b&gt;" in html
        assert "<b>" not in html
        assert html.count('class="change"') == 1
        assert '<input name="jobs"' in (await visit.get("/app/compare")).text
        for jobs in ("x", f"{first},{first}"):
            assert (await visit.get(f"/app/compare?jobs={jobs}")).status_code == 422


async def test_the_page_of_a_fork_says_that_its_original_was_deleted(front):
    first = await front.submit("fix it")
    await ended(front, first)
    again = await forked(front, first)
    lease = await front.claim(again)
    done(await front.services.operations.fail(lease, Reason.INTERNAL, "broken"))
    retried = (await front.client.post(f"/jobs/{again}/retry")).json()["id"]
    for origin, job_id in ((first, again), (again, retried)):
        async with visiting(front.app) as visit:
            assert f'<a href="/app/jobs/{origin}">' in (await visit.get(f"/app/jobs/{job_id}")).text
            assert (await front.client.delete(f"/jobs/{origin}")).status_code == 204
            html = (await visit.get(f"/app/jobs/{job_id}")).text
            assert f"<code>{origin}</code>, which was deleted" in html
            assert (f'href="/app/jobs/{origin}"' in html, f"jobs={origin}" in html) == (False,) * 2
