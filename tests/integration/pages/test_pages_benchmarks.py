"""The pages of benchmarks without scripts. The test plays the worker."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from support.pages.api_front import Front, charge, done, settings_for, started
from support.pages.pages_browser import Visit, visiting

from jobs import benchmarks
from jobs.benchmarks import NotStarted
from jobs.model.record import Reason, Result
from jobs.model.review import Review, ReviewKind
from lab.evals.laboratory import LABORATORY
from lab.evals.report.results import Header, SolutionVerdict
from lab.evals.report.results import Result as ExerciseResult
from worker.benchmark_jobs import WorkerJobs

TERMS = {"set": "custom", "limit": 2}
HOSTILE = "<img src=x onerror=hacked()>"


@pytest.fixture
async def front(redis_url: str, tmp_path: Path) -> AsyncIterator[Front]:
    async with started(settings_for(redis_url, tmp_path, models=("groq:*",))) as front:
        yield front


@pytest.fixture
async def visit(front: Front) -> AsyncIterator[Visit]:
    async with visiting(front.app) as visit:
        yield visit


async def measured(front: Front, model: str, *passed: bool, ends: bool = True) -> str:
    """A benchmark with these verdicts on its exercises; the id of its job."""
    job_id = await front.submit(model=model, benchmark=TERMS)
    settings = {"model": model, "repair": True, "judge": None, "max_revisions": 3}
    exercises = {"name": "custom", "source": "s", "digest": "d" * 64, "exercises": 2}
    header = asdict(Header(job_id, exercises, settings, {"fettle": "1"}, "2026-11-27T12:00:00Z"))
    results = [
        asdict(
            ExerciseResult(
                f"{HOSTILE}{number}", 1, "a" * 20, final=SolutionVerdict(verdict, HOSTILE)
            )
        )
        for number, verdict in enumerate(passed)
    ]
    lease = await front.claim(job_id)
    facts: list[Any] = [("benchmark_started", {**header, "tries": 2})]
    facts += [("exercise_finished", result) for result in results]
    await front.add_events(lease, *facts)
    if ends:
        report = {**LABORATORY.report(header, results), "planned": 2, "budget_usd": None}
        result = Result("All have ended.", approved_by=None, benchmark=report)
        done(await front.services.operations.succeed(lease, result))
    return job_id


async def test_a_benchmark_cannot_be_followed_up(front: Front) -> None:
    job_id = await measured(front, "groq:m", True, True)
    request = {"task": "And now?", "conversation_id": job_id}
    answer = await front.client.post("/jobs", json=request)
    (error,) = answer.json()["errors"]
    assert (answer.status_code, error["field"]) == (422, "conversation_id")
    assert f"job {job_id} is a benchmark, and leaves no work to continue" in error["message"]


async def test_history_report_and_comparison(front: Front, visit: Visit) -> None:
    first = await measured(front, "groq:old", True, False)
    second = await measured(front, "groq:new", True, True)
    unfinished = await measured(front, "groq:newest", True, ends=False)
    history = (await visit.get("/app/benchmarks")).text
    assert history.count("<circle") == 2
    assert all(job_id in history for job_id in (first, second, unfinished))
    for job_id, text in ((first, "50.0&nbsp;%"), (unfinished, "1 of 2")):
        report = (await visit.get(f"/app/benchmarks/{job_id}")).text
        assert text in report
        assert HOSTILE not in report
    assert 'hx-trigger="every 3s"' in report  # only while it runs
    assert "every 3s" not in (await visit.get(f"/app/benchmarks/{first}")).text
    compared = (await visit.get(f"/app/benchmarks/compare?job={second}&job={first}")).text
    assert re.search(r"Only groq:new passes 1</dt>", compared)
    assert HOSTILE not in compared
    assert (await visit.get(f"/app/benchmarks/compare?job={first}")).status_code == 400
    task = await front.submit()
    assert (await visit.get(f"/app/benchmarks/{task}")).status_code == 404


async def test_a_long_report_shows_the_last_results(front: Front, visit: Visit) -> None:
    job_id = await measured(front, "groq:old", *[True] * 310, ends=False)
    report = (await visit.get(f"/app/benchmarks/{job_id}")).text
    assert "The last 300 of 310" in report
    assert report.count("passed</span>") == 300


async def test_another_tenant_sees_no_benchmark(front: Front) -> None:
    job_id = await measured(front, "groq:old", True)
    key = {"name": "bob", "tenant": "other", "scopes": ["read"]}
    secret = (await front.client.post("/keys", json=key)).json()["secret"]
    async with visiting(front.app, secret) as other:
        assert job_id not in (await other.get("/app/benchmarks")).text
        assert "Start a benchmark" not in (await other.get("/app/benchmarks")).text
        assert (await other.get(f"/app/benchmarks/{job_id}")).status_code == 404


async def test_without_the_laboratory_page_and_api_name_the_remedy(
    front: Front, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = await measured(front, "groq:old", True, ends=False)
    monkeypatch.setattr(benchmarks, "entry_points", lambda group: ())
    page = await visit.get("/app/benchmarks")
    assert (page.status_code, "install fettle-lab" in page.text) == (200, True)
    assert "Start a benchmark" not in page.text
    assert "install fettle-lab" in (await visit.get(f"/app/benchmarks/{running}")).text
    body = {"task": "x", "model": "groq:old", "benchmark": TERMS}
    answer = await front.client.post("/jobs", json=body)
    assert answer.status_code == 422
    assert "install fettle-lab" in answer.text


SPEC = {"task": "x", "files": {}, "repair": True, "max_revisions": 3}


async def exercises_of(front: Front, **terms: str) -> WorkerJobs:
    """The jobs of a running benchmark with these terms."""
    body = {"model": "groq:old", "benchmark": {**TERMS, **terms}}
    lease = await front.claim(await front.submit(**body))
    loaded = await front.services.store.load(lease.job_id)
    assert loaded is not None
    operations, blobs = front.services.operations, front.services.blobs
    return WorkerJobs(loaded.record, operations, lease, blobs, asyncio.get_running_loop())


async def test_the_budget_counts_exercises_that_wait_for_their_verification(front: Front) -> None:
    """Such an exercise has ended, but has no result yet."""
    jobs = await exercises_of(front, budget_usd="0.50")
    exercise_id = (await asyncio.to_thread(jobs.submit, SPEC, once="a"))["id"]
    lease = await front.claim(exercise_id)
    await front.services.store.charge(exercise_id, [charge("c", "executor", "0.50")])
    done(await front.services.operations.fail(lease, Reason.UNAPPROVED, "no", None))
    await asyncio.to_thread(jobs.events, exercise_id)
    with pytest.raises(NotStarted):
        await asyncio.to_thread(jobs.submit, SPEC, once="b")


async def test_cancel_reaches_an_exercise_that_waits_for_a_person(front: Front) -> None:
    """Such as an exercise with checkpoints that no worker can read."""
    jobs = await exercises_of(front)
    exercise = await asyncio.to_thread(jobs.submit, SPEC, once="a")
    review = Review("r1", ReviewKind.UPGRADE, {})
    done(await front.services.operations.pause(await front.claim(exercise["id"]), review))
    benchmark_id = (await front.job(exercise["id"]))["spec"]["labels"][0].partition("=")[2]
    await front.client.post(f"/jobs/{benchmark_id}/cancel")
    assert (await front.job(exercise["id"]))["status"] == "cancelled"
