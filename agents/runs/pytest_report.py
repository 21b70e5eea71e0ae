"""What pytest reported of its tests, read from what `tools/inside/testing.py` leaves. Pure.

That tests have passed is said only of tests that were seen to pass: no pytest, no tests, tests that
were all skipped, or a process that ended without its report are failures, whatever the exit code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ValidationError

from agents.texts import fitting
from agents.tools.inside.testing import DETAIL, REPORT
from sandbox.protocol import RunResult

Outcome = Literal["failed", "error", "not_run", "skipped", "passed"]
OUTCOMES: tuple[Outcome, ...] = ("failed", "error", "not_run", "skipped", "passed")
"""Worst first, which is the order in which tests are shown."""
BAD = OUTCOMES[:3]
TESTS_SHOWN = 60
TESTS_KEPT = 200
FILE = REPORT.rpartition("/")[2]

Name = Annotated[str, AfterValidator(lambda text: text[:300])]
Detail = Annotated[str, AfterValidator(lambda text: text[:DETAIL])]
"""What tests have written is cut as it is read: a report is as long as a file may be."""


class Test(BaseModel):
    """What one test did, and where and why it failed."""

    id: Name
    outcome: Outcome
    detail: Detail = ""


class Report(BaseModel):
    """What `inside/testing.py` leaves. Tests can write to it: it is read like any input."""

    error: Detail | None = None
    tests: list[Test] | None = None

    @property
    def sorted(self) -> list[Test]:
        """The tests, worst first; each kind in its own order."""
        return sorted(self.tests or (), key=lambda test: OUTCOMES.index(test.outcome))

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each outcome, worst first."""
        return dict(Counter(test.outcome for test in self.sorted))

    def fields(self) -> dict[str, Any]:
        """What a run's record holds: counts by outcome, and the tests as far as they are few."""
        tests = [test.model_dump() for test in self.sorted[:TESTS_KEPT]]
        return {"counts": self.counts, "tests": tests}


def why_failed(report: Report, result: RunResult) -> str | None:
    """Why the tests have not passed, in a few words; None where they have. Pure."""
    if report.error is not None:
        return report.error
    if report.tests is None:
        return "pytest ended without a report: a test, or a limit, ended its process"
    counts = report.counts
    if not counts:
        return "no tests were found: files are named test_*.py, functions test_*"
    if any(name in counts for name in BAD):
        return _counted(counts)
    if "passed" not in counts:
        return "no test has passed: all were skipped"
    return None if result.succeeded else "pytest did not end well, though no test has failed"


def shown(report: Report, problem: str | None, output: str, width: int) -> str:
    """What a model sees of it: each test, then the `output` of a failure."""
    tests = report.sorted
    lines = [
        f"{test.outcome} {test.id}" + (f"\n    {test.detail}" if test.detail else "")
        for test in tests[:TESTS_SHOWN]
    ]
    lines = fitting(lines, width)
    if len(tests) > len(lines):
        lines.append(f"[{len(tests) - len(lines)} more]")
    if problem is None:
        return "\n".join([f"passed: {_counted(report.counts)}", *lines])
    return "\n".join([f"not passed: {problem}", *lines, "", output])


def report_in(changed: Mapping[str, bytes]) -> Report:
    """What the tests wrote down; an empty report where that is none."""
    try:
        return Report.model_validate_json(changed.get(FILE, b"{}"))
    except ValidationError:
        return Report()


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())
