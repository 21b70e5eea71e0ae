"""Report: what the judge found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sandbox.protocol import RunResult

Outcome = Literal["passed", "failed", "error", "missing"]
JudgedBy = Literal["tests", "script", "exit_code"]
"""What decides: each test by itself, whether a script comes to its own end, or a bare exit code."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test. `missing`: it is in the checks' files, and nothing was heard of it."""

    id: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The checks' outcome. They have passed where every test that must be reported has passed.

    `problem` says in words what else stands in the way: they could not be read, the judge was
    tampered with, the time was over. `result` is the run of all of it.
    """

    tests: tuple[Test, ...]
    problem: str | None
    result: RunResult
    seconds: float
    judged_by: JudgedBy

    @property
    def passed(self) -> bool:
        """Whether all of it holds."""
        every = all(test.outcome == "passed" for test in self.tests)
        return self.problem is None and bool(self.tests) and every

    def told(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """As plain values, as events and views have it; `run` is its run, told."""
        return {
            "passed": self.passed,
            "judged_by": self.judged_by,
            "problem": self.problem,
            "tests": [
                {"id": each.id, "outcome": each.outcome, "detail": each.detail}
                for each in self.tests
            ],
            "run": dict(run),
            "seconds": round(self.seconds, 3),
        }
