"""Conversations over HTTP and on their page: the jobs of a conversation, in order."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from support.pages.api_front import RESULT, charge, done, settings_for, started
from support.pages.pages_browser import visiting

from api.schemas.job import JobList
from api.schemas.outcome import Conversation
from jobs.model.record import Continuation, PatchRef, Push
from jobs.model.spec import EarlierChange
from jobs.store import Writes

VERIFICATION = {
    "revision": 1,
    "source": "answer",
    "command": "nothing to run",
    "run": None,
    "holds": True,
    "problem": None,
    "experiments": [],
    "workspace": None,
}
FAILED = {**VERIFICATION, "holds": False, "problem": "the checks have not passed"}
REPORT = {
    "passed": False,
    "problem": None,
    "tests": [{"id": "a", "outcome": "passed"}, {"id": "b", "outcome": "failed"}],
}


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def ended(front, job_id, **result):
    lease = await front.claim(job_id)
    await front.add_events(lease, charges=[charge("c1", "executor", "0.5")])
    finished = replace(RESULT, **{"verification": VERIFICATION, **result})
    done(await front.services.operations.succeed(lease, finished, "done"))
    return job_id


async def read(front, conversation_id, **query):
    answer = await front.client.get(f"/conversations/{conversation_id}", params=query)
    assert answer.status_code == 200, answer.text
    return Conversation.model_validate(answer.json())


async def test_a_conversation_has_the_tasks_answers_and_verdicts_of_its_jobs_in_order(front):
    first = await ended(front, await front.submit("begin"), answer="began")
    failed = await front.submit("go on", conversation_id=first)
    await front.client.post(f"/jobs/{failed}/cancel")
    third = await front.submit("once more", conversation_id=first)
    await ended(front, third, answer="done", override=True, checks=REPORT, verification=FAILED)
    await front.submit("another")
    read_jobs = (await read(front, first)).jobs
    assert [(job.id, job.task, job.answer, job.status) for job in read_jobs] == [
        (first, "begin", "began", "succeeded"),
        (failed, "go on", "", "cancelled"),
        (third, "once more", "done", "succeeded"),
    ]
    verdicts = [job.verdict and job.verdict["level"] for job in read_jobs]
    assert verdicts == ["green", None, "red"]
    assert read_jobs[2].checks.model_dump() == {"passed": 1, "total": 2}
    assert (read_jobs[0].cost.calls, read_jobs[0].cost.cost_usd) == (1, "0.5")
    newest = await read(front, first, limit=2)
    assert ([job.id for job in newest.jobs], newest.total) == ([failed, third], 3)
    oldest = await read(front, first, limit=2, offset=2)
    assert [job.id for job in oldest.jobs] == [first]


async def test_the_first_jobs_of_conversations_are_listed(front):
    first = await ended(front, await front.submit("begin"))
    other = await front.submit("another")
    await front.submit("go on", conversation_id=first)
    listed = JobList.model_validate((await front.client.get("/conversations")).json())
    assert [(job.conversation_id, job.task) for job in listed.jobs] == [
        (other, "another"),
        (first, "begin"),
    ]
    assert listed.total == 2
    await front.client.post(f"/jobs/{other}/cancel")
    assert (await front.client.delete(f"/jobs/{other}")).status_code == 204
    rest = (await front.client.get("/conversations")).json()
    assert [job["id"] for job in rest["jobs"]] == [first]
    assert (await front.client.get(f"/conversations/{other}")).status_code == 404


async def test_conversations_are_found_by_words_and_person_of_their_first_job(front):
    first = await front.submit("begin <b>")
    await front.submit("another")
    await front.submit("another word", conversation_id=first)
    for query, expected in (("text=another", ["another"]), ("text=begin", ["begin <b>"])):
        listed = (await front.client.get(f"/conversations?{query}")).json()
        assert ([job["task"] for job in listed["jobs"]], listed["total"]) == (expected, 1)
    assert (await front.client.get("/conversations?person=nobody")).json()["total"] == 0
    async with visiting(front.app) as visit:
        html = (await visit.get("/app/conversations?text=begin")).text
        assert f'href="/app/conversations/{first}">begin &lt;b&gt;</a>' in html
        assert "another" not in html
        assert "No conversation matches" in (await visit.get("/app/conversations?person=x")).text
        assert 'href="/app/conversations"' in (await visit.get("/app")).text


async def test_a_conversation_belongs_to_its_tenant(front):
    first = await front.submit("begin")
    follow_up = await front.submit("go on", conversation_id=first)
    async with front.with_key(await front.key("read", tenant="acme")) as stranger:
        assert (await stranger.get(f"/conversations/{first}")).status_code == 404
        assert (await stranger.get("/conversations")).json()["total"] == 0
    assert (await front.client.get(f"/conversations/{follow_up}")).status_code == 404
    assert (await front.client.get("/conversations/no%20id")).status_code == 422


async def test_the_thread_of_a_repository_shows_its_branch_and_where_each_job_started(front):
    pushed = Push("fettle/<b>", "a" * 40, "https://git.example.org/team/app/pull/7", "main")
    result = replace(RESULT, delivery=pushed)
    first = await front.patched(b"diff", is_ended=True, result=result)
    second = await front.submit("Now the CLI.", conversation_id=first)
    lease = await front.claim(second)
    workspace = await front.services.blobs.put(b"{}")
    change = EarlierChange(first, "b" * 64, "c" * 40, branch="fettle/<b>")
    start = Continuation(change, workspace, "d" * 40, "e" * 40, "fettle/<b>")
    await front.services.store.write(second, lease.epoch, Writes(continues=start))
    patch = PatchRef("f" * 64, 9, 1, 1, 0, base="a" * 40)
    pushed = replace(pushed, commit="9" * 40)
    done(
        await front.services.operations.succeed(
            lease, replace(RESULT, patch=patch, delivery=pushed), "did it"
        )
    )
    assert (await front.job(second))["continues"] == {
        "job_id": first,
        "branch": "fettle/<b>",
        "target": "d" * 40,
        "merged": False,
        "conflicts": [],
    }
    async with visiting(front.app) as visit:
        html = re.sub(r"</?code>", "", (await visit.get(f"/app/conversations/{first}")).text)
        assert "Branch fettle/&lt;b&gt; has 2 commits of this conversation" in html
        assert html.index('aaaaaaaaaaaa <a href="#job-') < html.index('999999999999 <a href="#job-')
        assert (
            f"Started from commit aaaaaaaaaaaa of the branch fettle/&lt;b&gt; with the change of "
            f'job <a href="/app/jobs/{first}">{first}</a>. '
            "Pushed commit 999999999999 to fettle/&lt;b&gt;</p>"
        ) in html
        start = "It goes on from the change of the last job of this conversation that succeeded"
        assert f"{start}, with" in html
        page = (await visit.get(f"/app/jobs/{second}")).text
        assert f'<dt>Goes on from</dt><dd><a href="/app/jobs/{first}">' in page
        assert f'action="/app/jobs/{second}/follow-up"' in page
        sent = await visit.post(f"/app/jobs/{second}/follow-up", data={"task": "more"})
        job = await front.job(sent.headers["hx-redirect"].rpartition("/")[2])
        assert job["spec"]["repo"] == (await front.job(first))["spec"]["repo"]


async def test_the_form_of_a_follow_up_offers_what_differs_from_the_last_job(front):
    repo = {"url": "https://git.example.org/team/app.git", "ref": "stable"}
    first = await front.submit(repo=repo, deliver={}, setup="make deps")
    plain = await front.submit()
    async with visiting(front.app) as visit:
        html = (await visit.get(f"/app/new?follows={first}")).text
        assert f"on {repo['url']}, with the change of its last job that succeeded" in html
        assert 'placeholder="stable"' in html
        assert '<option value="">as the last job</option>' in html
        assert 'name="ref"' not in (await visit.get(f"/app/new?follows={plain}")).text
        assert (await visit.get("/app/new?follows=none")).status_code == 404
        fields = {"task": "more", "conversation_id": first}
        for changed, expected in (({}, deliver(False)), ({"deliver": "none", "ref": "v2"}, None)):
            data, nothing = {**fields, **changed}, [("files", ("", b""))]
            sent = await visit.post("/app/new", data=data, files=nothing)
            spec = (await front.job(sent.headers["hx-redirect"].rpartition("/")[2]))["spec"]
            assert (spec["deliver"], spec["setup"]) == (expected, "make deps")
            assert spec["repo"] == {**repo, "ref": changed.get("ref", "stable"), "bundle": None}


def deliver(pull_request):
    return {"branch": True, "pull_request": pull_request}


async def test_the_page_is_a_thread_with_a_composer_at_its_end(front):
    first = await ended(front, await front.submit("begin <b>"), answer="# began <b>")
    second = await front.paused(conversation_id=first, task="go on")
    async with visiting(front.app) as visit:
        assert f'href="/app/conversations/{first}"' in (await visit.get(f"/app/jobs/{second}")).text
        html = (await visit.get(f"/app/conversations/{first}")).text
        assert html.index("begin &lt;b&gt;") < html.index("go on") < html.index("Next task")
        assert "<b>" not in html
        assert html.count('class="agent"') == 2, "the words of the agent are framed"
        form = f'action="/app/jobs/{second}/follow-up"'
        assert form in html
        sent = await visit.post(f"/app/jobs/{second}/follow-up", data={"task": "more"})
        job_id = sent.headers["hx-redirect"].rpartition("/")[2]
        job = await front.job(job_id)
        assert (job["conversation_id"], job["spec"]["review"]) == (first, True)
        assert (await visit.get("/app/conversations/none")).status_code == 404
        assert (await visit.get(f"/app/conversations/{first}?offset=20")).status_code == 404
