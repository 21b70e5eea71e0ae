"""The file of results: written line by line, truncated at any byte, summed up and compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lab.evals.errors import BadResults
from lab.evals.report.comparing import compare
from lab.evals.report.results import Header, Result, ResultFile, SolutionVerdict, read_results
from lab.evals.report.summing import sum_up
from lab.evals.run import beginning
from lab.evals.run.request import MeasurementRequest
from lab.evals.run.tries import outstanding
from lab.evals.sources.exercise import Exercise, ExerciseSet

EXERCISES = [Exercise(f"e{n}", f"Task {n}.", {"t.py": "x"}) for n in range(4)]
SET = ExerciseSet("tiny", "tiny.jsonl", EXERCISES)
ASKED = MeasurementRequest("groq:m")


def header(digest: str = "d", **settings: object) -> Header:
    exercise_set = {"name": "tiny", "source": "t", "digest": digest, "exercises": 4}
    measurement_settings = {"model": "groq:m", "repair": True, **settings}
    return Header("id", exercise_set, measurement_settings, {}, "2026-11-22T08:00:00Z")


def result(
    name: str, *, first: bool = False, final: bool = False, repeat: int = 1, **more: object
) -> Result:
    cost = {"calls": 2, "input_tokens": 10, "output_tokens": 5, "cost_usd": "0.01"}
    base_result = Result(name, repeat, f"job-{name}", "succeeded", cost=cost, job_seconds=2.0)
    verdicts = {"first": SolutionVerdict(first, "why"), "final": SolutionVerdict(final or first)}
    return replace(base_result, **{**verdicts, **more})


def write_results(path: Path, *lines: Header | Result) -> Path:
    with ResultFile(path) as file:
        for line in lines:
            file.write(line)
    return path


def test_written_results_are_read_again(tmp_path):
    results = [result("e0", first=True, failures=("name",)), result("é", level="hard")]
    path = write_results(tmp_path / "r.jsonl", header(), *results)
    read_header, results_in_file = read_results(path)
    assert read_header == header()
    assert results_in_file == results


def test_a_truncated_file_is_continued(tmp_path):
    path = write_results(tmp_path / "r.jsonl", header(), result("e0"), result("e1"))
    content = path.read_bytes()
    for cut in range(0, len(content), 23):
        path.write_bytes(content[:cut])
        with ResultFile(path) as file:
            complete_results = (
                beginning.begin(file, SET, ASKED, {})[1]
                if not file.is_started
                else read_results(path)[1]
            )
            file.write(result("e2"))
        ids = {entry.id for entry in read_results(path)[1]}
        assert "e2" in ids
        assert len(ids) == len(complete_results) + 1


def test_a_second_writer_is_refused(tmp_path):
    with (
        ResultFile(tmp_path / "r.jsonl"),
        pytest.raises(BadResults, match="another run"),
        ResultFile(tmp_path / "r.jsonl"),
    ):
        pass


@pytest.mark.parametrize("text", ["", "{}\n", "[]\n", "x\n", '{"kind": "header"}\n'])
def test_an_invalid_file_of_results_is_refused(tmp_path, text):
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    with pytest.raises(BadResults):
        read_results(path)


def test_the_same_command_finds_its_file_and_another_does_not(tmp_path):
    path = beginning.result_path(tmp_path, SET, ASKED)
    assert path.name == "tiny_groq-m.jsonl"
    assert beginning.result_path(tmp_path, SET, MeasurementRequest("groq:m", repair=False)) != path
    with ResultFile(path) as file:
        started_header, _ = beginning.begin(file, SET, ASKED, {"version": "1", "workers": [{}]})
    with ResultFile(path) as file:
        assert beginning.begin(file, SET, ASKED, {})[0] == started_header
        with pytest.raises(BadResults, match="another measurement: different: model"):
            beginning.begin(file, SET, MeasurementRequest("groq:other"), {})
        with pytest.raises(BadResults, match="the exercises"):
            beginning.begin(file, ExerciseSet("tiny", "t", EXERCISES[:2]), ASKED, {})


def test_putting_aside_overwrites_no_file(tmp_path):
    path = tmp_path / "r.jsonl"
    for number in range(3):
        path.write_text(str(number))
        beginning.put_aside(path)
    beginning.put_aside(path)
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["0", "1", "2"]


def test_unmeasured_tries_are_outstanding():
    lost = replace(result("e1"), why_not="internal", job="j9")
    todo = outstanding(header(), EXERCISES, 2, [result("e0"), lost, result("e3", repeat=2)])
    assert [(attempt.exercise.id, attempt.repeat) for attempt in todo] == [
        *[("e1", 1), ("e2", 1), ("e3", 1)],
        *[("e0", 2), ("e1", 2), ("e2", 2)],
    ]
    keys = {attempt.key for attempt in todo}
    assert len(keys) == 6
    again = outstanding(header(), EXERCISES, 2, [result("e0"), lost, result("e3", repeat=2)])
    assert {attempt.key for attempt in again} == keys
    # a lost job is not used again
    fresh = next(
        attempt
        for attempt in outstanding(header(), EXERCISES, 1, [])
        if attempt.exercise.id == "e1"
    )
    assert fresh.key not in keys


def test_summing_up():
    lost = replace(result("e3"), why_not="model_unavailable", first=None, final=None)
    results = [
        result("e0", first=True, level="easy"),
        result("e1", final=True, level="easy", failures=("name", "name")),
        result("e2", level="hard"),
        lost,
    ]
    summary = sum_up(header(), results)
    assert (summary.tries, summary.measured) == (4, 3)
    assert dict(summary.not_measured) == {"model_unavailable": 1}
    assert (summary.first.share, summary.final.share) == (
        pytest.approx(1 / 3),
        pytest.approx(2 / 3),
    )
    assert [rate.share for rate in summary.levels["easy"]] == [0.5, 1.0]
    assert summary.failures == {"name": 1, "hidden_tests": 1}
    assert (summary.calls, summary.input_tokens, summary.cost_usd) == (8, 40, "0.04")
    assert summary.job_seconds == 2.0


def test_several_tries_of_each_exercise():
    results = [result("e0", first=n == 1, repeat=n) for n in (1, 2, 3)]
    summary = sum_up(header(), results)
    assert summary.first.share == pytest.approx(1 / 3)
    assert summary.at_k[3] == (1.0, 1.0)
    assert summary.at_k[2][0] == pytest.approx(2 / 3)


def test_a_paired_comparison():
    names = [f"e{n}" for n in range(12)]
    first_measurement = (header(), [result(n, first=n in names[:6]) for n in names])
    second_measurement = (
        header(),
        [result(n, first=n in names[:1], final=n in names[:10]) for n in names],
    )
    first, final = compare(first_measurement, second_measurement)
    assert (first.shared, len(first.only_first), first.only_second) == (12, 5, [])
    assert first.p == pytest.approx(2 / 2**5)
    assert first.difference.share == pytest.approx(-5 / 12)
    assert first.difference.low < -5 / 12 < first.difference.high < 0
    assert (final.only_first, final.only_second) == ([], names[6:10])


def test_other_exercises_are_not_compared():
    with pytest.raises(BadResults, match="not the same exercises"):
        compare((header(), []), (header("other"), []))
    assert compare((header(), [result("e0")]), (header(), [result("e1")])) == []
