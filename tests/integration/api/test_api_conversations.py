"""Conversations over HTTP and on their page: the jobs of a conversation, in order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.pages.api_front import RESULT, charge, done, settings_for, started
from support.pages.pages_browser import visiting

from api.schemas.job import JobList
from api.schemas.outcome import Conversation

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


async def test_a_conversation_belongs_to_its_tenant(front):
    first = await front.submit("begin")
    follow_up = await front.submit("go on", conversation_id=first)
    async with front.with_key(await front.key("read", tenant="acme")) as stranger:
        assert (await stranger.get(f"/conversations/{first}")).status_code == 404
        assert (await stranger.get("/conversations")).json()["total"] == 0
    assert (await front.client.get(f"/conversations/{follow_up}")).status_code == 404
    assert (await front.client.get("/conversations/no%20id")).status_code == 422


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


async def test_a_conversation_about_a_repository_has_no_composer(front):
    repository = await front.submit(repo={"url": "https://git.example.org/team/app.git"})
    async with visiting(front.app) as visit:
        html = (await visit.get(f"/app/conversations/{repository}")).text
        assert "Next task" not in html
