"""The text about a run of pytest that a model reads: a pure function."""

from __future__ import annotations

from typing import Any

from agents.runs import pytest_runs
from agents.runs.pytest_runs import PytestReport, why_failed
from agents.runs.report import MOST_SKIPPED, SLOW_SECONDS, pytest_answer
from sandbox.protocol import End, Limits, RunResult, Stream

WIDTH = 1_000


def answer(
    *tests: pytest_runs.ReportedTest, seconds: float = 1.0, output: str = "", **more: Any
) -> str:
    bad = any(test.outcome not in {"passed", "skipped"} for test in tests)
    outcome = {"end": End.EXITED, "exit_code": int(bad), "signal": None, **more}
    result = RunResult(stdout=Stream(output), stderr=Stream(""), seconds=seconds, **outcome)
    report = PytestReport(tests=list(tests))
    return pytest_answer(report, why_failed(report, result), result, (), Limits(), WIDTH)


def passed(name: str, seconds: float = 0.0) -> pytest_runs.ReportedTest:
    return pytest_runs.ReportedTest(id=f"t.py::{name}", outcome="passed", seconds=seconds)


def failed(name: str, lines: str) -> pytest_runs.ReportedTest:
    return pytest_runs.ReportedTest(id=f"t.py::{name}", outcome="failed", detail=lines, lines=lines)


def skipped(name: str) -> pytest_runs.ReportedTest:
    return pytest_runs.ReportedTest(
        id=f"t.py::{name}", outcome="skipped", detail="Skipped: no network\nmore"
    )


def test_passed_tests_are_only_counted() -> None:
    assert answer(*map(passed, "abc"), output="t.py ...") == "passed: 3 passed"


def test_skipped_tests_are_named_with_their_reasons() -> None:
    text = answer(passed("a"), skipped("b"))
    assert text == "passed: 1 skipped, 1 passed\nskipped:\n    t.py::b (no network)"
    long_text = answer(passed("a"), *(skipped(f"s{n}") for n in range(MOST_SKIPPED + 7)))
    assert long_text.endswith("[7 more]")


def test_the_slowest_tests_of_a_slow_run_are_named() -> None:
    tests = [passed(name, seconds) for seconds, name in enumerate("abcdefg")]
    text = answer(*tests, seconds=SLOW_SECONDS)
    assert text.startswith("passed: 7 passed\nslowest:\n    6.0 s t.py::g\n    5.0 s t.py::f")
    assert "t.py::a" not in text
    assert "slowest" not in answer(*tests, seconds=SLOW_SECONDS - 1)


def test_failures_are_shown_within_the_limit_and_the_other_failures_are_named() -> None:
    text = answer(*(failed(f"f{n}", f"{n}" * 300) for n in range(6)))
    assert text.startswith(f"not passed: 6 failed\nfailed t.py::f0\n    {'0' * 300}\n")
    assert f"failed t.py::f2\n    {'2' * 300}" in text
    assert text.endswith("failed, too:\n    t.py::f3\n    t.py::f4\n    t.py::f5")


def test_the_output_is_shown_if_no_test_explains_the_failed_run() -> None:
    not_run = pytest_runs.ReportedTest(id="t.py::b", outcome="not_run")
    text = answer(passed("a"), not_run, output="INTERRUPTED")
    assert text.startswith("not passed: 1 not run, 1 passed\nnot run:\n    t.py::b\n\nexit code 1")
    assert text.endswith("stdout:\nINTERRUPTED")
    limit = answer(failed("a", "KeyError"), output="more", end=End.TIMEOUT, exit_code=None)
    assert "KeyError" in limit
    assert "stopped: it ran for longer than" in limit


def test_equal_failures_are_shown_once() -> None:
    text = answer(failed("a", "KeyError: 'x'"), failed("b", "KeyError: 'x'"))
    assert text.endswith("failed t.py::a\n    KeyError: 'x'\nfailed t.py::b: as above")
