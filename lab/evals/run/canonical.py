"""Judges the solutions that come with exercises, without a model.

A right solution has to pass its tests; a wrong one, if there is one, has to fail.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cli.client.service import Service
from lab.evals.run.hidden_tests import verify
from lab.evals.run.tries import each
from lab.evals.sources.exercise import Exercise, Files


@dataclass(frozen=True, slots=True)
class Shown:
    """One tried solution: `well` is whether the tests' verdict was the expected one."""

    exercise: str
    kind: str
    passed: bool
    why: str

    @property
    def well(self) -> bool:
        """A right solution passes, a wrong one does not."""
        return self.passed == (self.kind == "right")


@dataclass(frozen=True, slots=True)
class Canonical:
    """`passed` counts the exercises whose right solution passes, and whose wrong one fails."""

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


def canonical(
    service: Service,
    exercises: Sequence[Exercise],
    at_once: int,
    shown: Callable[[Shown], None],
) -> Canonical:
    """Try all solutions, each in its own verification job.

    Raises NotVerified where the service cannot run them.
    """
    run = secrets.token_hex(8)
    begun = time.monotonic()
    trials = [
        (exercise, kind, files)
        for exercise in exercises
        for kind, files in (("right", exercise.right), ("wrong", exercise.wrong))
        if files is not None
    ]

    def judged(trial: tuple[Exercise, str, Files]) -> Shown:
        exercise, kind, files = trial
        once = f"bench-{run}-{exercises.index(exercise)}-{kind}"
        verdict = verify(service, exercise, {**exercise.files, **files}, once=once)
        return Shown(exercise.id, kind, verdict.passed, verdict.why)

    found: list[Shown] = []

    def done(one: Shown) -> None:
        found.append(one)
        shown(one)

    each(trials, judged, at_once, done)
    bad = {one.exercise for one in found if not one.well}
    tried = {one.exercise for one in found}
    return Canonical(
        tasks=len(tried),
        passed=len(tried - bad),
        wrong=sum(one.kind == "wrong" for one in found),
        seconds=time.monotonic() - begun,
        failures=sorted(
            f"{one.exercise}: {one.why or 'its wrong solution passes'}"
            for one in found
            if not one.well
        ),
    )
