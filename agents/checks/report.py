"""Report: the judge's result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sandbox.protocol import RunResult

Outcome = Literal["passed", "failed", "error", "missing"]
JudgedBy = Literal["tests", "script", "exit_code", "cases"]
"""What decides: each test, whether a script reaches its end, an exit code alone, or cases alone.
With test files and cases, it says how the files are judged."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test or case. `missing`: it is expected, and nothing was reported about it."""

    id: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of the checks. They have passed if every expected test has passed.

    `problem` is any other reason against it: they could not be read, the report was tampered with,
    the time was used up. `result` is the run of all test files, with its output in `stdout`, or of
    one case: the first that failed, else the last.
    """

    tests: tuple[Test, ...]
    problem: str | None
    result: RunResult
    seconds: float
    judged_by: JudgedBy

    @property
    def passed(self) -> bool:
        """Whether every check has passed."""
        every = all(test.outcome == "passed" for test in self.tests)
        return self.problem is None and bool(self.tests) and every


def merged(reports: Sequence[Report]) -> Report:
    """One report of several. The first says how test files are judged."""
    shown = next((each for each in reports if not each.passed), reports[-1])
    return Report(
        tests=tuple(test for each in reports for test in each.tests),
        problem=next((each.problem for each in reports if each.problem), None),
        result=shown.result,
        seconds=sum(each.seconds for each in reports),
        judged_by=reports[0].judged_by,
    )
