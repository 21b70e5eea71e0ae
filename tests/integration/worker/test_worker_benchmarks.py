"""Benchmarks as jobs: a real worker, its sandbox, and a model with designed pass rates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.processes.benchmarks import MODEL, Benchmarks, running_benchmarks

from cli.main import run
from fettle.errors import ApiError
from lab.evals.report.results import parse_results

pytestmark = pytest.mark.timeout(240)
PRICED = "groq:llama-3.3-70b-versatile"
"""A model with a known price, which the designed server plays."""


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Benchmarks]:
    with running_benchmarks(tmp_path_factory.mktemp("benchmarks")) as running:
        yield running


@pytest.fixture(scope="module")
def measured(benchmarks: Benchmarks) -> Any:
    """The job of a benchmark that has ended."""
    return benchmarks.finished(benchmarks.submit())


def test_a_benchmark_has_the_designed_rates(benchmarks, measured):
    assert (measured["status"], measured["kind"]) == ("succeeded", "benchmark"), measured["detail"]
    report = measured["result"]["benchmark"]
    assert (report["first"]["share"], report["final"]["share"]) == (1 / 4, 2 / 4)
    assert (report["tries"], report["measured"], report["planned"]) == (4, 4, 4)
    assert set(report["levels"]) == {"easy", "hard"}
    service, job_id = benchmarks.service, measured["id"]
    assert json.loads(service.file(job_id, "report.json")) == report
    # the file of results is that of `fettle bench`, and each result names its job
    header, results = parse_results(service.file(job_id, "results.jsonl"), "results.jsonl")
    assert (header.id, header.settings["model"]) == (job_id, MODEL)
    exercises = service.jobs(kind="exercise", label=f"benchmark={job_id}")["jobs"]
    assert len(exercises) == 4
    assert {result.job for result in results} == {exercise["id"] for exercise in exercises}


def test_neither_users_nor_readers_are_drowned(benchmarks, measured):
    """The lists and totals of users' jobs have no exercise, and the job has few events although
    many attempts looked at it."""
    service = benchmarks.service
    assert service.jobs()["total"] == 0
    kinds = [event.kind for event in service.events(measured["id"])]
    assert kinds == [
        *("submitted", "started", "benchmark_started"),
        *["exercise_finished"] * 4,
        "succeeded",
    ]
    assert measured["attempts"] > 2
    stats = benchmarks.read("/stats")
    assert (stats["exercises"]["jobs"], stats["models"]) == (4, [])


def test_the_budget_starts_no_further_exercise(benchmarks):
    """Each call of the model has a price, so the first exercise spends the budget."""
    terms = {"at_once": 1, "budget_usd": "0.000001"}
    job = benchmarks.finished(benchmarks.submit(model=PRICED, benchmark=terms))
    report = job["result"]["benchmark"]
    assert (report["planned"], report["tries"], report["budget_usd"]) == (4, 1, "0.000001")
    assert "budget of $0.000001 is spent" in job["result"]["answer"]


def test_first_attempts_repeated_tries_and_a_limit(benchmarks):
    job_id = benchmarks.submit(repair=False, benchmark={"limit": 2, "repeat": 2})
    report = benchmarks.finished(job_id)["result"]["benchmark"]
    assert (report["planned"], report["measured"]) == (4, 4)
    assert report["final"]["share"] == 1 / 2
    assert report["at_k"]["2"]["final"] == 1 / 2
    assert report["settings"]["repair"] is False


def test_cancel_ends_the_exercises_and_a_retry_continues(benchmarks):
    benchmarks.hangs.set()
    job_id = benchmarks.submit()
    label = f"benchmark={job_id}"
    service = benchmarks.service
    benchmarks.until(lambda: service.jobs(kind="exercise", label=label)["total"] == 4)
    service.cancel(job_id)
    statuses = {job["status"] for job in service.jobs(kind="exercise", label=label)["jobs"]}
    assert statuses == {"cancelled"}
    benchmarks.hangs.clear()
    job = benchmarks.finished(service.retry(job_id)["id"])
    assert (job["result"]["benchmark"]["measured"], job["spec"]["retry_of"]) == (4, job_id)


def test_results_are_imported(benchmarks, measured):
    lines = benchmarks.service.file(measured["id"], "results.jsonl").decode()
    files = {"old.jsonl": lines}
    before = len(benchmarks.server.requests)
    job = benchmarks.finished(benchmarks.submit(files, model=None, benchmark={"set": "imported"}))
    imported, original = (each["result"]["benchmark"] for each in (job, measured))
    assert imported == {**original, "budget_usd": None}
    assert len(benchmarks.server.requests) == before


def test_the_command_leaves_a_measurement_to_a_worker(benchmarks, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FETTLE_CONFIG", "")
    file = tmp_path / "tiny.jsonl"
    file.write_text(benchmarks.exercises)
    command = ["bench", str(file), "--model", MODEL, "--limit", "1", "--detach", "--json"]
    assert run(["--url", benchmarks.url, *command, "--budget", "5"]) == 0
    job_id = json.loads(capsys.readouterr().out)["id"]
    job = benchmarks.finished(job_id)
    assert job["spec"]["benchmark"]["budget_usd"] == "5"
    assert job["result"]["benchmark"]["final"]["share"] == 1.0
    monkeypatch.delenv("FETTLE_URL", raising=False)
    assert run(command) == 1
    assert "--detach needs a running service" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "field", "words"),
    [
        ({"model": None}, "model", "name the model"),
        ({"benchmark": {"set": "none"}}, "benchmark.set", "custom, humaneval"),
        ({"files": {}}, "files", "exactly one file"),
        ({"benchmark": {"set": "custom"}}, "files", "send no file"),
        ({"files": {"a.jsonl": '{"id": 1}\n'}}, "files", "a.jsonl:1"),
        ({"files": {"a.txt": "x"}}, "files", "NAME.jsonl"),
        ({"review": True}, "review", "leave it out"),
        ({"benchmark": {"budget_usd": "0"}}, "benchmark.budget_usd", "more than 0"),
    ],
)
def test_a_wrong_request_names_its_field(benchmarks, changed, field, words):
    with pytest.raises(ApiError) as refused:
        benchmarks.submit(**changed)
    text = f"{refused.value} {refused.value.detail}"
    assert field in text
    assert words in text
