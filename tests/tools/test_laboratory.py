"""The laboratory's decisions about a benchmark, over jobs in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from support.processes.benchmarks import exercise_line

from jobs.benchmarks import (
    IMPORTED,
    BenchmarkRefused,
    Measurement,
    NotStarted,
    Unfinished,
    load_laboratory,
)
from jobs.model.events import Event
from jobs.model.spec import BenchmarkSpec, JobKind, JobSpec
from jobs.view.job import render_cost
from lab.evals.laboratory import LABORATORY

Values = Mapping[str, Any]


def measurement(count: int = 5, content: bytes | None = None, **terms: Any) -> Measurement:
    lines = [json.dumps(exercise_line(n)) for n in range(1, count + 1)]
    benchmark = BenchmarkSpec(**{"set": "file", "at_once": 2, **terms})
    spec = JobSpec("x", kind=JobKind.BENCHMARK, model="groq:m", benchmark=benchmark)
    text = "\n".join(lines).encode() if content is None else content
    return Measurement("b" * 20, spec, ("e.jsonl", text), "2026-11-27T12:00:00Z")


SET = {"name": "s", "source": "s", "digest": "d", "exercises": 1}


def line_of(kind: str, **values: Any) -> bytes:
    return json.dumps({"kind": kind, **values}).encode() + b"\n"


def header_line(**changed: Any) -> bytes:
    settings = {"model": "m", "repair": True}
    fields = {"settings": settings, "versions": {}, "began": "2026"}
    return line_of("header", **{"id": "h", "set": {}, **fields, **changed})


def result_line(**changed: Any) -> bytes:
    return line_of("result", id="e", repeat=1, **changed)


@dataclass
class JobsInMemory:
    """Jobs that end when the test says so; their solutions pass."""

    ended: set[str] = field(default_factory=set)
    submitted: list[str] = field(default_factory=list)
    most: int = 99
    """The jobs after which the budget is spent."""

    def submit(self, spec: Values, *, once: str) -> Values:
        if once not in self.submitted:
            if len(self.submitted) >= self.most:
                raise NotStarted
            self.submitted.append(once)
        return {"id": once}

    def verify(self, request: Values, *, once: str) -> Values:
        self.ended.add(once)
        return {"id": once}

    def events(self, job_id: str) -> list[Event]:
        if job_id not in self.ended:
            raise Unfinished
        return [Event(1, 0, "answered", {"revision": 1, "text": ""})]

    def job(self, job_id: str) -> Values:
        checks = {"passed": True, "problem": None, "tests": []}
        return {
            "id": job_id,
            "status": "succeeded",
            "reason": None,
            "detail": "",
            "runs": [],
            "critiques": [],
            "cost": render_cost([]),
            "ran_seconds": 1.0,
            "created_at": None,
            "finished_at": None,
            "result": {"checks": checks},
        }

    def files(self, job_id: str) -> list[Values]:
        return [{"path": "solution.py", "digest": "d"}]

    def artifact(self, job_id: str, name: str, *, digest: str) -> bytes:
        return b""

    def text(self, href: str) -> str:
        return ""


def advance(subject: Measurement, jobs: JobsInMemory, results: list[Values]) -> bool:
    header = LABORATORY.begin(subject)
    return LABORATORY.advance(subject, header, tuple(results), jobs, results.append)


def test_exercises_start_in_order_and_few_at_once() -> None:
    subject, jobs, results = measurement(), JobsInMemory(), []
    assert not advance(subject, jobs, results)
    assert not advance(subject, jobs, results)  # no job is submitted twice
    assert len(jobs.submitted) == 2
    jobs.ended.add(jobs.submitted[1])
    assert not advance(subject, jobs, results)
    assert [result["id"] for result in results] == ["e2"]
    assert len(jobs.submitted) == 3  # the third took the place of the second


def test_all_end_and_each_has_one_result() -> None:
    subject, jobs, results = measurement(repeat=2), JobsInMemory(), []
    for _ in range(20):
        has_ended = advance(subject, jobs, results)
        jobs.ended.update(jobs.submitted)
        if has_ended:
            break
    assert has_ended
    tries = [(result["repeat"], result["id"]) for result in results]
    assert tries == [(n, f"e{e}") for n in (1, 2) for e in range(1, 6)]
    header = LABORATORY.begin(subject)
    assert header["tries"] == 10
    report = LABORATORY.report(header, results)
    assert (report["final"]["share"], report["tries"]) == (1.0, 10)


def test_a_spent_budget_starts_no_exercise_and_waits_for_those_that_run() -> None:
    subject, jobs, results = measurement(at_once=4), JobsInMemory(most=2), []
    assert not advance(subject, jobs, results)
    jobs.ended.update(jobs.submitted)
    assert advance(subject, jobs, results)
    assert [result["id"] for result in results] == ["e1", "e2"]


def test_lines_of_results_are_imported_as_they_were() -> None:
    subject, jobs, results = measurement(count=1), JobsInMemory(), []
    advance(subject, jobs, results)
    jobs.ended.update(jobs.submitted)
    advance(subject, jobs, results)
    lines = LABORATORY.result_lines(LABORATORY.begin(subject), results)
    again: list[Values] = []
    imported = measurement(content=lines, set=IMPORTED)
    assert advance(imported, JobsInMemory(), again)
    assert LABORATORY.result_lines(LABORATORY.begin(imported), again) == lines
    both = (LABORATORY.begin(imported), again), (LABORATORY.begin(subject), results)
    assert {pair["p"] for pair in LABORATORY.compare(*both)["measures"]} == {1.0}


@pytest.mark.parametrize(
    ("content", "terms", "words"),
    [
        (b"", {}, "e.jsonl cannot be read: it has no exercise"),
        (b"{", {}, "e.jsonl:1"),
        (b'{"task": "t"}\n', {}, "id"),
        (b"{}", {"set": "humaneval"}, "e.jsonl:1 cannot be read: 'prompt' is missing"),
        (b"{}\n", {"set": IMPORTED}, "e.jsonl:1 is not a result"),
        (line_of("header", id="h") + line_of("result", id="e"), {"set": IMPORTED}, "e.jsonl:1"),
        (header_line(), {"set": IMPORTED, "at_once": 1}, "no results of `fettle bench`"),
        (header_line(set=SET) + line_of("result", id="e"), {"set": IMPORTED}, "e.jsonl:2"),
        (header_line(set=SET) + result_line(cost={"cost_usd": "x"}), {"set": IMPORTED}, "results"),
        (header_line(set=SET) + result_line(why_not=["x"]), {"set": IMPORTED}, "results"),
        (header_line(set=SET, settings={}) + result_line(), {"set": IMPORTED}, "repair"),
    ],
)
def test_a_wrong_file_has_a_reason(content: bytes, terms: dict[str, Any], words: str) -> None:
    with pytest.raises(BenchmarkRefused, match=words):
        LABORATORY.begin(measurement(content=content, **terms))


def test_the_number_of_tries_is_bounded() -> None:
    with pytest.raises(BenchmarkRefused, match="at most 5,000 tries, not 5,100"):
        LABORATORY.begin(measurement(count=51, repeat=100))
    assert LABORATORY.begin(measurement(count=51, repeat=100, limit=50))["tries"] == 5_000


def test_a_set_without_its_file_is_not_downloaded() -> None:
    benchmark = BenchmarkSpec("humaneval")
    spec = JobSpec("x", kind=JobKind.BENCHMARK, model="groq:m", benchmark=benchmark)
    with pytest.raises(BenchmarkRefused, match="needs a file"):
        LABORATORY.begin(Measurement("b", spec, None, ""))


def test_the_product_finds_the_laboratory() -> None:
    assert load_laboratory() is LABORATORY
