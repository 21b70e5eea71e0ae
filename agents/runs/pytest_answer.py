"""What a model reads of a run of pytest: counts, failures, skipped and slow tests. Pure.

Tests that passed are only counted, because every later request repeats the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent

from agents.runs.program import ProgramResult
from agents.runs.pytest_report import Report, Test, counted
from agents.runs.report import file_lines, run_report
from sandbox.protocol import End, Limits, RunResult

SLOW_SECONDS = 10.0
"""A run of so many seconds has its slowest tests named."""
SLOWEST = 5
NAMES_SHOWN = 40
"""Tests of one outcome that are listed by name alone."""
SKIPPED_SHOWN = 10
"""Skipped tests that are listed: many projects skip the same tests in each run."""
_FAILED = ("failed", "error")


def program_answer(
    seen: ProgramResult, result: RunResult, refused: Sequence[str], limits: Limits, width: int
) -> str:
    """The answer for a program that may run pytest. `result` and `refused` have the files that were
    kept of the run."""
    if seen.report is None:
        return run_report(result, refused, limits, width, seen.shell)
    return pytest_answer(seen.report, seen.problem, result, refused, limits, width)


def pytest_answer(
    report: Report,
    problem: str | None,
    result: RunResult,
    refused: Sequence[str],
    limits: Limits,
    width: int,
) -> str:
    """`problem` says why the tests have not passed, see `pytest_report.why_failed`; about `width`
    characters. Without a failed test, the output says more than the report."""
    tests = report.tests or []
    failed = [test for test in tests if test.outcome in _FAILED]
    parts = [f"not passed: {problem}" if problem else f"passed: {counted(report.counts)}"]
    parts += _failures(failed, width)
    skipped = [test for test in tests if test.outcome == "skipped"]
    parts += _named(
        "skipped", [f"{test.id}{_why_skipped(test)}" for test in skipped], SKIPPED_SHOWN
    )
    if not failed:
        parts += _named("not run", [test.id for test in tests if test.outcome == "not_run"])
    if result.seconds >= SLOW_SECONDS:
        slowest = sorted(tests, key=lambda test: -test.seconds)[:SLOWEST]
        parts += _named("slowest", [f"{test.seconds:.1f} s {test.id}" for test in slowest])
    text = "\n".join(parts)
    if problem and (not failed or result.end is not End.EXITED):
        return f"{text}\n\n{run_report(result, refused, limits, width)}"
    return "\n\n".join([text, *file_lines(result, refused, width)])


def _failures(failed: Sequence[Test], width: int) -> list[str]:
    """Each failure with its lines, unless another has failed in the same way before; as many as
    fit, and then the names of others."""
    shown, seen, left = list[str](), set[str](), width
    for test in failed:
        if test.detail and test.detail in seen:
            block = f"{test.outcome} {test.id}: as above"
        else:
            lines = indent(test.lines or test.detail, "    ")
            block = f"{test.outcome} {test.id}\n{lines}".rstrip()
        left -= len(block)
        if left < 0:
            return [*shown, *_named("failed, too", [test.id for test in failed[len(shown) :]])]
        seen.add(test.detail)
        shown.append(block)
    return shown


def _named(title: str, names: Sequence[str], most: int = NAMES_SHOWN) -> list[str]:
    """One line below the title for each of the first `most` names, and the number of others."""
    if not names:
        return []
    shown = [f"    {name}" for name in names[:most]]
    more = [f"    [{len(names) - len(shown)} more]"] if len(names) > len(shown) else []
    return [f"{title}:", *shown, *more]


def _why_skipped(test: Test) -> str:
    reason = test.detail.removeprefix("Skipped: ").partition("\n")[0]
    return f" ({reason})" if reason else ""
