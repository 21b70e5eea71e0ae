"""The report of acceptance checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sandbox.protocol import RunResult

Outcome = Literal["passed", "failed", "error", "missing", "skipped"]
JudgedBy = Literal["tests", "exit_code", "cases"]
"""How test files are judged: by pytest's report of each test, or by an exit code alone. `cases`:
there are no test files. Records of release 0.1 can also have `script`."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test or case. `error`: it failed outside of its own body, or could not be run. `missing`:
    it did not run. `skipped`: it was skipped, or is expected to fail."""

    id: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of the checks.

    `problem` is a reason against it that is not the outcome of a test: no test has passed, or the
    run ended without a report. `result` is the run of all test files, or of one case: the first
    that did not pass, else the last.
    """

    tests: tuple[Test, ...]
    problem: str | None
    result: RunResult
    seconds: float
    judged_by: JudgedBy

    @property
    def passed(self) -> bool:
        """Whether at least one check has passed, and the others have at most been skipped."""
        outcomes = {test.outcome for test in self.tests}
        return self.problem is None and "passed" in outcomes and outcomes <= {"passed", "skipped"}


def merged(reports: Sequence[Report]) -> Report:
    """One report of several. The first report says how test files are judged."""
    decisive = next((report for report in reports if not report.passed), reports[-1])
    return Report(
        tests=tuple(test for report in reports for test in report.tests),
        problem=next((report.problem for report in reports if report.problem), None),
        result=decisive.result,
        seconds=sum(report.seconds for report in reports),
        judged_by=reports[0].judged_by,
    )
