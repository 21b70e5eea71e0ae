"""The pages of jobs: new jobs, a long timeline, reviews, downloads."""

from __future__ import annotations

import asyncio
import html
import re
import time
from dataclasses import fields, replace

import pytest
from structlog.testing import capture_logs
from support.pages.api_front import RESULT, a_run, charge, done, settings_for, started, text
from support.pages.pages_browser import visiting

from api.http import event_stream
from api.pages.views.new import LEFT_OUT
from api.schemas.job_request import JobRequest
from jobs.blobs.manifest import FileEntry, Manifest
from jobs.model.events import NewEvent
from jobs.model.record import Reason, Wait
from jobs.model.review import Review, ReviewKind
from jobs.model.spec import JobSpec
from jobs.store import Writes
from jobs.store.outbox import enqueue
from jobs.transitions.change import Delivery
from jobs.view.job import format_time

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path, max_files=3)) as front:
        yield front


async def paused(front, review_id="r1", task="a task", **run):
    """Submit a job with a review that shows a run; return its id."""
    job_id = await front.submit(task, review=True)
    await pause(front, job_id, review_id, **run)
    return job_id


async def pause(front, job_id, review_id, number=1, **run):
    lease = await front.claim(job_id)
    run_data = a_run(number, **run)
    opened = ("run_finished", run_data)
    await front.add_events(lease, opened)
    payload = {
        "plan": ["one"],
        "answer": "42",
        "code": run_data["code"]["text"],
        "runs": [run_data],
        "artifacts": run_data["artifacts"],
        "critiques": [],
        "decisions": [],
        "revision": number,
        "unproven": None,
    }
    review = Review(review_id, ReviewKind.REVIEW, payload, await front.services.store.now())
    done(await front.services.operations.pause(lease, review))


def hidden(html, action):
    """The hidden fields of a form of the review."""
    form = html.partition(f'name="action" value="{action}"')[2]
    calls = {
        name: re.search(rf'name="{name}" value="([^"]*)"', form).group(1)
        for name in ("review_id", "digest")
    }
    return {"action": action, **calls}


async def test_a_job_that_waits_for_its_provider_shows_the_time(front):
    job_id = await front.submit()
    lease = await front.claim(job_id)
    wait = Wait(f"groq {EVIL}", "groq:x: too many requests")
    reason = Reason.MODEL_UNAVAILABLE
    job = done(await front.services.operations.retry(lease, reason, wait, min_delay_seconds=600))
    waits = (await front.job(job_id))["waits"]
    assert waits == {"on": wait.on, "until": format_time(job.due_at), "tries": 1, "why": wait.why}
    (listed,) = (await front.client.get("/jobs")).json()["jobs"]
    assert listed["waits"] == waits
    until = waits["until"][:16].replace("T", " ")
    async with visiting(front.app) as visit:
        for page in ("/app", f"/app/jobs/{job_id}"):
            html = (await visit.get(page)).text
            assert "waits for groq &lt;img" in html, page
            assert f"{until} UTC" in html, page
            assert EVIL not in html


async def test_a_job_is_submitted_with_files_and_options(front):
    async with visiting(front.app) as visit:
        assert 'name="task"' in (await visit.get("/app/new")).text
        data = {"task": "do\r\nit", "labels": "a, b", "steps": "one\ntwo", "max_revisions": "0"}
        data |= {"checks": "def test_it():\r\n    pass", "max_cost_usd": "0.5"}
        data |= {"verify": "pytest -q 'a b'", "evidence": "none", "on_exhausted": "accept"}
        files = [("files", ("x.py", b"x = 1\n")), ("files", ("y.txt", b"y"))]
        sent = await visit.post("/app/new", data={**data, "review": "true"}, files=files)
        assert (sent.status_code, sent.text) == (204, "")
        job_id = sent.headers["hx-redirect"].rpartition("/")[2]
        job = await front.job(job_id)
        assert job["spec"]["task"] == "do\nit"
        assert job["spec"]["labels"] == ["a", "b"]
        assert job["spec"]["steps"] == ["one", "two"]
        assert (job["spec"]["max_revisions"], job["spec"]["review"]) == (0, True)
        checks = {"test_acceptance.py": "def test_it():\n    pass\n"}
        assert job["spec"]["checks"]["files"] in (checks, list(checks))
        assert job["spec"]["max_cost_usd"] == "0.5"
        assert job["spec"]["verify"] == ["pytest", "-q", "a b"]
        assert (job["spec"]["evidence"], job["spec"]["on_exhausted"]) == ("none", "accept")
        assert job["submitted_by"] == "development"
        listed = (await visit.get(f"/app/jobs/{job_id}/files/shown")).text
        assert ("x.py" in listed, "y.txt" in listed) == (True, True)
        assert (await visit.get(f"/app/jobs/{job_id}/files/x.py")).text == "x = 1\n"
        archive = await visit.get(f"/app/jobs/{job_id}/files.tar.gz")
        assert archive.headers["content-type"] == "application/gzip"


async def test_a_job_is_retried_with_other_terms(front):
    job_id = await front.submit(max_cost_usd="0.1")
    await front.client.post(f"/jobs/{job_id}/cancel")
    async with visiting(front.app) as visit:
        assert 'placeholder="0.1"' in (await visit.get(f"/app/jobs/{job_id}")).text
        terms = {"max_cost_usd": "2", "timeout_seconds": "30m", "review": "true", "model": ""}
        sent = await visit.post(f"/app/jobs/{job_id}/retry", data=terms)
        assert sent.status_code == 204, sent.text
        spec = (await front.job(sent.headers["hx-redirect"].rpartition("/")[2]))["spec"]
        assert (spec["max_cost_usd"], spec["timeout_seconds"]) == ("2", 1_800)
        assert (spec["review"], spec["model"]) == (True, None)
        refused = await visit.post(f"/app/jobs/{job_id}/retry", data={"model": "evil:x"})
        assert refused.status_code == 422


async def test_the_list_names_the_person_who_approved_and_the_override(front):
    lease = await front.claim(await front.submit("begin"))
    overridden = replace(RESULT, approved_by="Ada", override=True)
    done(await front.services.operations.succeed(lease, overridden, "did it"))
    async with visiting(front.app) as visit:
        html = (await visit.get("/app")).text
    assert "approved by Ada" in html
    assert '<span class="warn">override</span>' in html


async def test_the_page_of_a_finished_job_has_a_follow_up_and_a_fork(front):
    job_id = await front.submit("begin", model="groq:x")
    lease = await front.claim(job_id)
    verified = {"revision": 1, "workspace": None, "holds": True, "problem": None, "command": None}
    await front.add_events(
        lease, ("verified", {**verified, "source": None, "run": None, "experiments": []})
    )
    done(await front.services.operations.succeed(lease, RESULT, "did it"))
    async with visiting(front.app) as visit:
        html = (await visit.get(f"/app/jobs/{job_id}")).text
        assert len(set(re.findall(r' id="([^"]+)"', html))) == html.count(' id="'), "unique ids"
        assert '<option value="1">as revision 1 left them</option>' in html
        sent = await visit.post(f"/app/jobs/{job_id}/follow-up", data={"task": "go on\r\n"})
        follow_up = await front.job(sent.headers["hx-redirect"].rpartition("/")[2])
        assert (follow_up["conversation_id"], follow_up["spec"]["task"]) == (job_id, "go on")
        assert follow_up["spec"]["model"] == "groq:x"
        empty = await visit.post(f"/app/jobs/{job_id}/follow-up", data={"task": " "})
        assert empty.status_code == 422
        changes = {"prompt": "a\r\nb", "revision": "1", "model": "groq:y", "review": ""}
        sent = await visit.post(f"/app/jobs/{job_id}/fork", data=changes)
        spec = (await front.job(sent.headers["hx-redirect"].rpartition("/")[2]))["spec"]
        assert (spec["fork_of"], spec["task"], spec["model"]) == (job_id, "a\nb", "groq:y")


async def test_every_field_of_a_job_can_be_filled_in(front):
    async with visiting(front.app) as visit:
        html = (await visit.get("/app/new")).text
        form_fields = set(re.findall(r'<(?:input|select|textarea)[^>]* name="(\w+)"', html))
        expected = {field.name for field in fields(JobSpec)} | JobRequest.model_fields.keys()
        assert expected - form_fields == LEFT_OUT.keys()
        assert form_fields <= expected | {"cases", "ref", "bundle", "other_model"}
        data = {"task": "t", "pause": "every_run", "repair": "false", "review": "true"}
        data |= {"review_remind_seconds": "1m", "review_escalate_seconds": "90"}
        data |= {"questions": "true", "questions_expire_seconds": "30", "on_expiry": ""}
        sent = await visit.post("/app/new", data=data, files=[("files", ("", b""))])
        spec = (await front.job(sent.headers["hx-redirect"].rpartition("/")[2]))["spec"]
        assert (spec["pause"], spec["repair"], spec["questions"]) == ("every_run", False, True)
        times = ("review_remind_seconds", "review_escalate_seconds", "questions_expire_seconds")
        assert [spec[name] for name in times] == [60, 90, 30]


@pytest.mark.parametrize(
    ("field", "data", "message"),
    [
        ("task", {"task": "  "}, "at least 1 character"),
        ("model", {"model": "elsewhere:m"}, "not on the allow-list"),
        ("verify", {"verify": "a | b"}, "no shell runs it"),
        ("max_revisions", {"max_revisions": "99"}, "less than or equal to 20"),
        ("timeout_seconds", {"timeout_seconds": "soon"}, "write 90s, 15m, 2h or 3d"),
        ("model", {"other_model": "elsewhere:m"}, "not on the allow-list"),
        ("max_tokens", {"max_tokens": "0"}, "greater than or equal to 1"),
        ("labels", {"labels": "x" * 101}, "1 to 100 characters"),
        ("repair", {"repair": "perhaps"}, "valid boolean"),
        ("questions_expire_seconds", {"questions_expire_seconds": "9"}, "needs questions"),
        ("general", {"conversation_id": "no/such"}, "conversation_id"),
    ],
)
async def test_an_error_is_shown_next_to_its_field(front, field, data, message):
    async with visiting(front.app) as visit:
        nothing = [("files", ("", b""))]
        report = await visit.post("/app/new", data={"task": "t", **data}, files=nothing)
        assert report.status_code == 422
        beside = re.search(rf'id="wrong-{field}"[^>]*>([^<]*)<', report.text).group(1)
        assert message in beside
        assert (await front.client.get("/jobs")).json()["total"] == 0


async def test_the_form_starts_with_the_options_of_the_last_job_on_a_repository(front):
    url = "https://git.example.org/team/app.git"
    options = {"model": "groq:x", "timeout_seconds": 5_400, "labels": ["a", "b"], "review": True}
    options |= {"verify": ["pytest", "-q", "a b"], "deliver": {"pull_request": True}}
    options |= {"review_remind_seconds": 90, "on_expiry": "stay", "repair": False}
    await front.submit("older", repo={"url": url}, labels=["older"])
    job_id = await front.submit("secret task", repo={"url": url, "ref": "v1"}, **options)
    await front.submit("without a repository")
    async with visiting(front.app) as visit:
        page = (await visit.get("/app/new")).text
        link = "/app/new?repo=https%3A//git.example.org/team/app.git"
        assert page.count(link) == 1
        assert ">git.example.org/team/app</a>" in page
        form = (await visit.get(link)).text
        assert f'href="/app/jobs/{job_id}"' in form
        assert "secret task" not in form
        fields = dict(re.findall(r'<(?:input|select)[^>]* name="(\w+)"[^>]* value="([^"]*)"', form))
        expected = {"repo": url, "ref": "v1", "other_model": "groq:x", "timeout_seconds": "90m"}
        expected |= {"labels": "a, b", "verify": "pytest -q &#39;a b&#39;"}
        expected |= {"review_remind_seconds": "90s"}
        assert fields | expected == fields
        for ticked in ('name="review" value="true" checked', 'name="repair" value="false" checked'):
            assert ticked in form
        assert '<option value="pull_request" selected>' in form
        assert 'href="/app/jobs' not in (await visit.get("/app/new?repo=https://other/x")).text
    secret = await front.key("submit")
    async with visiting(front.app, secret) as visit:
        assert "groq:x" not in (await visit.get(link)).text


async def test_selected_jobs_are_cancelled_retried_and_labelled(front):
    jobs = [await front.submit(f"task {number} <b>", labels=["a"]) for number in range(3)]
    ended = await front.submit("ended")
    await front.finish(ended)
    async with visiting(front.app) as visit:

        async def act(action, *job_ids, **more):
            data = {"x-form-token": visit.token, "action": action, "job": job_ids, **more}
            answer = await visit.http.post("/app/jobs/selected", data=data)
            assert answer.status_code == 200
            return answer.text

        page = (await visit.get("/app?label=a")).text
        assert page.count('name="job"') == 3
        assert 'name="back" value="/app?label=a"' in page
        back = {"back": "/app?label=a"}
        done_page = await act("cancel", *jobs[:2], ended, "0" * 20, **back)
        assert "2 of 4 jobs changed" in done_page
        assert "This job has already succeeded: it cannot be cancelled" in done_page
        assert "This job does not exist" in done_page
        assert "task 0 &lt;b&gt;" in done_page
        assert '<a class="button" href="/app?label=a">' in done_page
        assert "evil" not in await act("cancel", back="https://evil/")
        assert [(await front.job(job_id))["status"] for job_id in jobs] == [
            "cancelled",
            "cancelled",
            "queued",
        ]
        await act("add", jobs[0], jobs[2], labels="b, a,c d")
        await act("remove", jobs[0], labels="a")
        labels = [(await front.job(job_id))["spec"]["labels"] for job_id in jobs]
        assert labels == [["b", "c d"], ["a"], ["b", "a", "c d"]]
        labels[2] = ["with, a comma"]
        await front.client.patch(f"/jobs/{jobs[2]}", json={"labels": labels[2]})
        changed = await act("add", jobs[0], jobs[2], labels="z,a")
        fields = re.findall(r'name="(labels-\w+)" value="([^"]*)"', changed)
        before = {name: html.unescape(value) for name, value in fields}
        assert 'value="undo"' in changed
        assert 'value="undo"' in await act("undo", jobs[0], jobs[2], **before), "an undo, too"
        restored = [(await front.job(job_id))["spec"]["labels"] for job_id in jobs]
        assert restored == labels
        assert "20 items" in await act("add", jobs[0], labels=",".join(map(str, range(21))))
        retried = await act("retry", jobs[0], jobs[2])
        assert "1 of 2 jobs changed" in retried
        new_id = re.search(r'href="/app/jobs/(\w+)"', retried).group(1)
        assert (await front.job(new_id))["spec"]["retry_of"] == jobs[0]
        assert "the form names no action" in (await act("no", jobs[0])).lower()
        unsigned = await visit.http.post("/app/jobs/selected", data={"job": jobs})
        assert unsigned.status_code == 403
    secret = await front.key("read")
    async with visiting(front.app, secret) as visit:
        assert 'name="job"' not in (await visit.get("/app")).text
        assert (await visit.post("/app/jobs/selected", data={"job": jobs})).status_code == 403


async def test_labels_that_are_added_at_the_same_time_are_all_kept(front):
    job_id = await front.submit("sort", labels=["a"])
    labels = [f"l{number}" for number in range(8)]
    async with visiting(front.app) as visit:
        data = {"x-form-token": visit.token, "action": "add", "job": job_id}
        posts = (
            visit.http.post("/app/jobs/selected", data={**data, "labels": label})
            for label in labels
        )
        assert {answer.status_code for answer in await asyncio.gather(*posts)} == {200}
    assert set((await front.job(job_id))["spec"]["labels"]) == {"a", *labels}


async def test_a_job_is_submitted_without_scripts(front):
    async with visiting(front.app) as visit:
        data = {"task": "t <b>", "labels": "a", "timeout_seconds": "soon", "review": "true"}
        nothing = [("files", ("", b""))]
        refused = await visit.http.post("/app/new", data=data, files=nothing)
        assert refused.status_code == 403
        data["x-form-token"] = visit.token
        refused = await visit.http.post("/app/new", data=data, files=nothing)
        assert refused.status_code == 422
        assert "t &lt;b&gt;</textarea>" in refused.text
        assert 'name="review" value="true" checked' in refused.text
        beside = re.search(r'id="wrong-timeout_seconds"[^>]*>([^<]*)<', refused.text).group(1)
        assert "write 90s, 15m, 2h or 3d" in beside
        sent = await visit.http.post(
            "/app/new", data={**data, "timeout_seconds": "2h"}, files=nothing
        )
        assert sent.status_code == 303
        spec = (await front.job(sent.headers["location"].rpartition("/")[2]))["spec"]
        assert (spec["task"], spec["timeout_seconds"]) == ("t <b>", 7_200)


async def test_a_file_of_any_kind_is_accepted(front):
    async with visiting(front.app) as visit:
        files = [("files", ("x.bin", b"\xff\xfe"))]
        sent = await visit.post("/app/new", data={"task": "t"}, files=files)
        job_id = sent.headers["hx-redirect"].rpartition("/")[2]
        assert (await visit.get(f"/app/jobs/{job_id}/files/x.bin")).content == b"\xff\xfe"


async def test_too_many_files_and_unsafe_paths_are_reported_next_to_the_files(front):
    async with visiting(front.app) as visit:
        for files, message in (
            ([("files", (f"{n}.txt", b"")) for n in range(4)], "3 files"),
            ([("files", ("../x", b""))], "../x"),
        ):
            report = await visit.post("/app/new", data={"task": "t"}, files=files)
            assert report.status_code == 422
            assert message in re.search(r'id="wrong-files"[^>]*>([^<]*)<', report.text).group(1)


async def test_no_text_of_a_job_becomes_a_tag(front):
    artifact = await front.store_artifact(f"{EVIL}.txt", b"x", "text/plain")
    evil = {"code": text(EVIL), "stdout": text(f"\x1b[31m{EVIL}"), "stderr": text(EVIL)}
    job_id = await paused(front, task=EVIL, artifacts=[artifact], by=EVIL, refused=[EVIL], **evil)
    await front.client.post(f"/jobs/{job_id}/review", json={"action": "revise", "feedback": EVIL})
    lease = await front.claim(job_id)
    await front.add_events(
        lease,
        ("planned", {"steps": [EVIL], "source": "model", "note": EVIL}),
        ("answered", {"revision": 1, "text": EVIL}),
        ("tool_used", {"tool": EVIL, "path": EVIL, "ok": False, "note": EVIL, "artifacts": []}),
        ("of_a_later_release", {EVIL: EVIL}),
        (
            "critiqued",
            {"revision": 1, "verdict": "revise", "feedback": EVIL, "run": EVIL, "overruled": EVIL},
        ),
    )
    async with visiting(front.app) as visit:
        for path in (
            "",
            "/runs/1/shown",
            "/timeline?after=0&before=99",
            "/changes",
            "/live",
        ):
            if path == "/live":
                await front.client.post(f"/jobs/{job_id}/cancel")
            page = await visit.get(f"/app/jobs/{job_id}{path}")
            assert page.status_code == 200, path
            assert "onerror" in page.text, path
            assert EVIL not in page.text
        assert EVIL not in (await visit.get("/app")).text


async def test_a_decision_applies_to_the_shown_review(front):
    job_id = await paused(front)
    async with visiting(front.app) as visit:
        form = hidden((await visit.get(f"/app/jobs/{job_id}")).text, "revise")
        sent = await visit.post(
            f"/app/jobs/{job_id}/review", data={**form, "feedback": "more\r\ntests"}
        )
        assert sent.status_code == 204
        await pause(front, job_id, "r2", 2, stdout=text("43\n"))
        late = await visit.post(f"/app/jobs/{job_id}/review", data={**form, "action": "approve"})
        assert (late.status_code, late.headers["hx-reswap"]) == (409, "none")
        assert "The open review is not the one that the decision names" in late.text
        page = (await visit.get(f"/app/jobs/{job_id}")).text
        assert "more\ntests" in page
        approved = await visit.post(f"/app/jobs/{job_id}/review", data=hidden(page, "approve"))
        assert approved.status_code == 204
    decided = (await front.job(job_id))["decisions"]
    assert [(decision["action"], decision["digest_named"]) for decision in decided] == [
        ("revise", True),
        ("approve", True),
    ]


async def test_work_that_paused_can_continue(front):
    job_id = await front.paused(pause="every_run")
    async with visiting(front.app) as visit:
        page = (await visit.get(f"/app/jobs/{job_id}")).text
        assert ">Continue</button>" in page
        assert "Send back" not in page
        sent = await visit.post(f"/app/jobs/{job_id}/review", data=hidden(page, "revise"))
        assert sent.status_code == 204
        assert "let it go on" in (await visit.get(f"/app/jobs/{job_id}")).text
        other_page = (await visit.get(f"/app/jobs/{await front.paused()}")).text
    assert (">Continue</button>" in other_page, "Send back" in other_page) == (False, True)


async def test_a_job_is_read_decided_and_ended_without_scripts(front):
    job_id = await paused(front)
    async with visiting(front.app) as visit:

        async def send(path, **fields):
            """Send a form, as a browser without scripts does."""
            data = {"x-form-token": visit.token, **fields}
            return await visit.http.post(f"/app/jobs/{job_id}{path}", data=data)

        page = (await visit.get(f"/app/jobs/{job_id}")).text
        assert page.index('class="strip ') < page.index("<h1")
        for path, content in {
            "/runs/1/shown": "Code of run 1",
            "/review/edit": 'id="edit-code"',
            "/files/shown": "The workspace is empty.",
            "/timeline?after=0&before=3": 'id="e1"',
        }.items():
            part = (await visit.get(f"/app/jobs/{job_id}{path}")).text
            assert part.startswith("<!doctype html>"), path
            assert content in part, path
            scripted = await visit.get(f"/app/jobs/{job_id}{path}", headers={"HX-Request": "true"})
            assert "<html" not in scripted.text, path
        approval = {**hidden(page, "approve"), "feedback": "Good."}
        assert (
            await visit.http.post(f"/app/jobs/{job_id}/review", data=approval)
        ).status_code == 403
        sent = await send("/review", **approval)
        assert (sent.status_code, sent.headers["location"]) == (303, f"/app/jobs/{job_id}")
        decision = (await front.job(job_id))["decisions"][0]
        assert (decision["action"], decision["feedback"]) == ("approve", "Good.")
        sent = await send("/cancel")
        assert (sent.status_code, sent.headers["location"]) == (303, f"/app/jobs/{job_id}")
        assert (await front.job(job_id))["status"] == "cancelled"
        sent = await send("/retry", max_tokens="70000")
        assert sent.status_code == 303
        retried = await front.job(sent.headers["location"].rpartition("/")[2])
        assert retried["spec"]["max_tokens"] == 70_000


async def test_an_override_is_sent_by_its_form_and_needs_a_remark(front):
    job_id = await front.paused(succeeded=False)
    async with visiting(front.app) as visit:
        page = (await visit.get(f"/app/jobs/{job_id}")).text
        form = hidden(page, "approve")
        assert 'name="override" value="true"' in page
        path = f"/app/jobs/{job_id}/review"
        assert (await visit.post(path, data=form)).status_code == 409
        assert (await visit.post(path, data={**form, "override": "true"})).status_code == 422
        override = {**form, "override": "true", "feedback": "The test is wrong."}
        assert (await visit.post(path, data=override)).status_code == 204
    decision = (await front.job(job_id))["decisions"][0]
    assert (decision["override"], decision["feedback"]) == (True, "The test is wrong.")


async def test_questions_are_answered_one_by_one(front):
    job_id = await front.submit(questions=True)
    lease = await front.claim(job_id)
    questions = [
        {"question": f"Which {EVIL}?", "default": "any"},
        {"question": "When?", "default": "x"},
    ]
    payload = {"task": "t", "questions": questions}
    review = Review("q1", ReviewKind.QUESTIONS, payload, await front.services.store.now())
    done(await front.services.operations.pause(lease, review))
    async with visiting(front.app) as visit:
        page = (await visit.get(f"/app/jobs/{job_id}")).text
        assert ("2 questions" in page, EVIL in page) == (True, False)
        answers = {**hidden(page, "answer"), "answers": ["ISO\r\ndates", ""]}
        assert (await visit.post(f"/app/jobs/{job_id}/review", data=answers)).status_code == 204
    assert (await front.job(job_id))["decisions"][0]["answers"] == ["ISO\ndates", ""]


async def test_a_reviewer_ends_a_job_that_asks_questions(front):
    job_id = await front.submit(questions=True)
    lease = await front.claim(job_id)
    payload = {"task": "t", "questions": [{"question": "When?", "default": "x"}]}
    review = Review("q1", ReviewKind.QUESTIONS, payload, await front.services.store.now())
    done(await front.services.operations.pause(lease, review))
    async with visiting(front.app) as visit:
        page = (await visit.get(f"/app/jobs/{job_id}")).text
        rejection = {**hidden(page, "reject"), "feedback": "The task is wrong."}
        assert (await visit.post(f"/app/jobs/{job_id}/review", data=rejection)).status_code == 204
    job = await front.job(job_id)
    assert (job["status"], job["reason"]) == ("failed", "rejected")


async def test_review_and_editor_have_the_full_code_and_changes_side_by_side(front):
    long = "\n".join(f"x{n} = {n}" for n in range(2_000))
    digest = await front.services.blobs.put(long.encode())
    job_id = await paused(front, code=text("x0 = 0\n...", digest=digest))
    async with visiting(front.app) as visit:
        assert "x1999" in (await visit.get(f"/app/jobs/{job_id}/changes")).text
        editor = (await visit.get(f"/app/jobs/{job_id}/review/edit")).text
        assert "x1999 = 1999" in editor
        form = hidden(editor, "edit")
        changed = long.replace("x7 = 7", "x7 = 8")
        sent = await visit.post(f"/app/jobs/{job_id}/review", data={**form, "code": changed})
        assert sent.status_code == 204
        after = await front.services.blobs.put(changed.encode())
        await pause(front, job_id, "r2", 2, code=text("x0 = 0\n...", digest=after))
        report = (await visit.get(f"/app/jobs/{job_id}/changes?since=pause")).text
        assert "+x7 = 8" in re.sub("<[^>]*>", "", report)
        assert "1999" not in report


@pytest.mark.parametrize("name", ["x.ng2", "x.java"])
async def test_a_file_that_is_slow_to_lex_does_not_block_the_api(front, name):
    """A token of `x.ng2` takes 16 s, and a clock that is checked between two tokens does not end
    it.
    """
    content = b"(" * 16_384 if name != "x.java" else b"a a a a\n" * 4_000
    artifact = await front.store_artifact(name, content, "text/plain")
    files = Manifest({name: FileEntry(artifact["digest"], len(content))})
    job_id = await front.submit(review=True)
    lease = await front.claim(job_id)
    run = a_run(artifacts=[artifact])
    workspace = await front.services.blobs.put(files.dump())
    await front.add_events(lease, ("run_finished", run), workspace=workspace)
    payload = {"plan": ["one"], "answer": "42", "runs": [run], "artifacts": [artifact]}
    review = Review("r1", ReviewKind.REVIEW, payload, await front.services.store.now())
    done(await front.services.operations.pause(lease, review))
    async with visiting(front.app) as visit:
        used = time.process_time()
        address = f"/app/jobs/{job_id}/changes"
        pages = await asyncio.gather(*(visit.get(address) for _ in range(4)))
        assert time.process_time() - used < 5
    assert [content.decode()[:7] in page.text for page in pages] == [True] * 4


async def test_an_open_page_ends_with_its_session(redis_url, tmp_path, monkeypatch):
    monkeypatch.setattr(event_stream, "RECHECK_SECONDS", 0.0)
    settings = settings_for(redis_url, tmp_path, stream_heartbeat_seconds=0.1)
    async with started(settings) as front:
        job_id = await paused(front)
        async with visiting(front.app) as visit:
            stream = asyncio.create_task(visit.get(f"/app/jobs/{job_id}/live"))
            await asyncio.sleep(0.3)
            assert not stream.done()
            await visit.post("/app/sign-out")
            report = await asyncio.wait_for(stream, 20)
            assert (report.status_code, "event: end" in report.text) == (200, False)


async def test_a_long_timeline_comes_in_parts_and_misses_no_event(front):
    job_id = await front.submit()
    lease = await front.claim(job_id)
    used = {"tool": "t", "path": "", "ok": True, "note": "", "artifacts": []}
    facts = [
        NewEvent(f"n{number}", "run_finished", a_run(number))
        if number % 10 == 9
        else NewEvent(f"n{number}", "tool_used", used)
        for number in range(400)
    ]
    await front.services.store.write(lease.job_id, lease.epoch, Writes(events=facts))
    async with visiting(front.app) as visit:
        page = (await visit.get(f"/app/jobs/{job_id}")).text
        shown_numbers = {int(seq) for seq in re.findall(r'id="e(\d+)"', page)}
        while gap := re.search(r'hx-get="(/app/jobs/[^"]*timeline[^"]*)"', page):
            page = (await visit.get(gap.group(1).replace("&amp;", "&"))).text
            more = {int(seq) for seq in re.findall(r'id="e(\d+)"', page)}
            assert not more & shown_numbers
            shown_numbers |= more
        assert shown_numbers == set(range(1, 403))
        await front.client.post(f"/jobs/{job_id}/cancel")
        late = (await visit.get(f"/app/jobs/{job_id}/live?after=50")).text
        received = [int(seq) for seq in re.findall(r'id="e(\d+)"', late)]
        assert received == [*range(51, 71), *range(324, 404)]
        assert "after=70&amp;before=324" in late
        assert len(re.findall(r'<details class="run[^>]* open>', late)) == 2


async def test_pictures_are_shown_and_a_drawing_is_never_active(front):
    png = await front.store_artifact("a.png", b"\x89PNG", "image/png")
    chart = await front.store_artifact("c.png", b"\x89PNG3", "image/png")
    chart = {**chart, "description": 'Sales: 3 bars "a" <b> to 4.'}
    svg = await front.store_artifact("a.svg", b"<svg onload='alert(1)'/>", "image/svg+xml")
    job_id = await paused(front, artifacts=[png, chart, svg])
    async with visiting(front.app) as visit:
        page = (await visit.get(f"/app/jobs/{job_id}")).text
        assert f'src="/app/jobs/{job_id}/artifacts/a.png?digest={png["digest"]}"' in page
        assert 'alt="a.png: a picture from a run"' in page
        assert 'alt="c.png: Sales: 3 bars &#34;a&#34; &lt;b&gt; to 4."' in page
        drawing = f'<img src="/app/jobs/{job_id}/artifacts/a.svg?digest={svg["digest"]}"'
        folded = r'<details class="drawing">\s*<summary>a.svg.*</summary>\s*'
        assert re.search(folded + re.escape(drawing), page)
        answer = await visit.get(f"/app/jobs/{job_id}/artifacts/a.png?digest={png['digest']}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
        for path in (f"artifacts/a.svg?digest={svg['digest']}", "artifacts/a.svg"):
            download = await visit.get(f"/app/jobs/{job_id}/{path}")
            assert download.headers["content-type"] == "image/svg+xml"
            assert download.headers["content-disposition"].startswith("attachment")
            assert download.headers["content-security-policy"] == "sandbox; default-src 'none'"
        other = f"/app/jobs/{job_id}/artifacts/a.png?digest={svg['digest']}"
        assert (await visit.get(other)).status_code == 404


async def test_system_and_numbers_have_pages(front):
    facts = {
        "models": {"keys": ["groq"], "default": "groq:m", "recordings": ["r"]},
        "storage": {"works": False, "why": "no space left"},
        "fleet": {"version": 1, "ignored": {"retention_days": 2}},
    }
    await front.services.store.announce("w1", facts, 60)
    await front.services.store.announce("w0", {"of": "another release"}, 60)
    await front.finish(await front.submit())
    for command in enqueue([Delivery("m", "job.finished", "t", "j", 1, {})]):
        await front.services.store.redis.execute_command(*command)
    lease = await front.claim(await front.submit())
    await front.add_events(lease, charges=[charge("a", "critic", "0.25")])
    done(await front.services.operations.fail(lease, Reason.UNAPPROVED, "no"))
    async with visiting(front.app) as visit:
        page = (await visit.get("/app/system")).text
        assert ("w1" in page, "groq:m" in page, "w0" in page) == (True, True, True)
        assert "takes no job: no space left" in page
        assert "ignores FETTLE_RETENTION_DAYS=2" in page
        assert re.search(r"waiting</dt><dd>1 message, the oldest for \d+ s", page)
        secret = await front.key("read", name="reader")
    async with visiting(front.app, secret) as visit:
        page = (await visit.get("/app/system")).text
        assert ("w1" in page, "Your tenant" in page, "Redis</h2>" in page) == (False, True, False)
    async with visiting(front.app) as visit:
        page = (await visit.get("/app/stats?days=7")).text
        assert 'data-colour="amber">Overridden<' in page
        assert re.search(r'data-colour="accent">groq:m<', page)
        assert 'data-value="0.25">$0.2500' in page
        assert re.search(r'<th scope="row">unapproved</th><td[^>]*>1<', page)
        table = await visit.get("/app/stats/days.csv?days=7")
        assert table.headers["content-type"].startswith("text/csv")
        assert len(table.text.splitlines()) == 8
        assert (await visit.get("/app/stats?days=0")).status_code == 422


async def test_the_stats_hide_days_without_jobs_and_link_to_the_jobs_of_a_day(front):
    failed = await front.submit()
    lease = await front.claim(failed)
    await front.add_events(lease, ("routed", {"difficulty": "hard"}))
    done(await front.services.operations.fail(lease, Reason.UNAPPROVED, "no"))
    await front.submit()  # it waits
    async with visiting(front.app) as visit:
        page = (await visit.get("/app/stats?days=7")).text
        assert page.count("<tr hidden>") == 6 + 7, "only today has a job, and no day has costs"
        assert re.search(r'<th scope="row">hard</th><td[^>]*>1</td><td[^>]*>0</td>', page)
        assert 'href="/app?status=queued"' in page
        (href,) = re.findall(r'<a href="(/app\?status=failed[^"]*)">1</a>', page)
        listed = await visit.get(html.unescape(href))
        assert listed.status_code == 200
        assert re.findall(r'href="/app/jobs/(\w{20})"', listed.text) == [failed]
        day_link = re.findall(r'<a href="(/app\?from=[^"]*)">20', page)[0]
        assert failed in (await visit.get(html.unescape(day_link))).text


async def test_an_internal_error_is_a_page_too(front, monkeypatch):
    async def broken(*_, **__):
        raise RuntimeError("secret cause")

    async with visiting(front.app) as visit:
        monkeypatch.setattr(type(front.services.store), "page", broken)
        with capture_logs():  # the console takes time to render a traceback
            answer = await visit.get("/app")
        assert answer.status_code == 500
        assert "Internal error" in answer.text
        assert "secret cause" not in answer.text
