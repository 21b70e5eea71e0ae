"""Report: what the judge found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from agents.checks.notices import Notice
from sandbox.protocol import RunResult

Outcome = Literal["passed", "failed", "error", "missing"]
JudgedBy = Literal["tests", "script", "exit_code", "cases"]
"""What decides: each test by itself, whether a script reaches its end, a bare exit code, or cases
alone. Where there are test files and cases, it says how the files are judged."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test or case. `missing`: it is one of the checks, and nothing was reported of it."""

    id: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The checks' outcome. They have passed where every test that must be reported has passed.

    `problem` says in words what else is in the way: they could not be read, the report was tampered
    with, the time was over. `result` is the run of all test files, whose output is in its `stdout`,
    or of one case: the first that did not pass, else the last. `notices` decide nothing.
    """

    tests: tuple[Test, ...]
    problem: str | None
    result: RunResult
    seconds: float
    judged_by: JudgedBy
    notices: tuple[Notice, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all of it holds."""
        every = all(test.outcome == "passed" for test in self.tests)
        return self.problem is None and bool(self.tests) and every

    def as_data(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """As plain values, as events and views have it; `run` is its run in the same form."""
        return {
            "passed": self.passed,
            "judged_by": self.judged_by,
            "problem": self.problem,
            "tests": [asdict(each) for each in self.tests],
            "notices": [asdict(each) for each in self.notices],
            "run": dict(run),
            "seconds": round(self.seconds, 3),
        }


def merged(reports: Sequence[Report]) -> Report:
    """One report of several, of which the first says how test files are judged."""
    shown = next((each for each in reports if not each.passed), reports[-1])
    return Report(
        tests=tuple(test for each in reports for test in each.tests),
        problem=next((each.problem for each in reports if each.problem), None),
        result=shown.result,
        seconds=sum(each.seconds for each in reports),
        judged_by=reports[0].judged_by,
        notices=tuple(notice for each in reports for notice in each.notices),
    )
