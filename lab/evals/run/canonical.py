"""Checks the solutions that come with exercises, without a model.

A right solution must pass its tests; a wrong solution, if there is one, must fail.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fettle import Service
from lab.evals.run.hidden_tests import verify
from lab.evals.run.tries import for_each
from lab.evals.sources.exercise import Exercise, Files


@dataclass(frozen=True, slots=True)
class SolutionCheck:
    """One tried solution: `well` is whether the tests' verdict was the expected one."""

    exercise: str
    kind: str
    passed: bool
    problem: str

    @property
    def well(self) -> bool:
        """A right solution passes, a wrong one does not."""
        return self.passed == (self.kind == "right")


@dataclass(frozen=True, slots=True)
class SolutionReport:
    """`passed` counts the exercises with a right solution that passes and a wrong one that
    fails."""

    tasks: int
    passed: int
    wrong: int
    seconds: float
    failures: Sequence[str]

    def as_fields(self) -> dict[str, Any]:
        """As plain values, for `--json`."""
        return {
            "tasks": self.tasks,
            "passed": self.passed,
            "seconds": round(self.seconds, 1),
            "wrong_solutions": self.wrong,
            "failures": list(self.failures),
        }


def check_solutions(
    service: Service,
    exercises: Sequence[Exercise],
    at_once: int,
    report: Callable[[SolutionCheck], None],
) -> SolutionReport:
    """Try all solutions, each in its own verification job.

    Raises NotVerified if the service cannot run them.
    """
    run = secrets.token_hex(8)
    started_at = time.monotonic()
    trials = [
        (exercise, kind, files)
        for exercise in exercises
        for kind, files in (("right", exercise.right), ("wrong", exercise.wrong))
        if files is not None
    ]

    def judged(trial: tuple[Exercise, str, Files]) -> SolutionCheck:
        exercise, kind, files = trial
        once = f"bench-{run}-{exercises.index(exercise)}-{kind}"
        verdict = verify(service, exercise, {**exercise.files, **files}, once=once)
        return SolutionCheck(exercise.id, kind, verdict.passed, verdict.why)

    checks: list[SolutionCheck] = []

    def done(check: SolutionCheck) -> None:
        checks.append(check)
        report(check)

    for_each(trials, judged, at_once, done)
    bad = {check.exercise for check in checks if not check.well}
    tried = {check.exercise for check in checks}
    return SolutionReport(
        tasks=len(tried),
        passed=len(tried - bad),
        wrong=sum(check.kind == "wrong" for check in checks),
        seconds=time.monotonic() - started_at,
        failures=sorted(
            f"{check.exercise}: {check.problem or 'its wrong solution passes'}"
            for check in checks
            if not check.well
        ),
    )
