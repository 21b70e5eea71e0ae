"""Judges the shipped fixes, without a model: with the fix every test of a task passes, without it
none of `fail_to_pass` does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lab.evals.repos.task import RepoTask
from lab.evals.repos.verifying import Verifying
from lab.evals.run.tries import each


@dataclass(frozen=True, slots=True)
class Shown:
    """One task: `why` it does not hold, empty where it does."""

    task: str
    why: str
    note: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Canonical:
    """`passed` counts the tasks that hold."""

    tasks: int
    passed: int
    seconds: float
    failures: Sequence[str]

    def as_fields(self) -> dict[str, Any]:
        """As plain values, for `--json`."""
        return {
            "seconds": round(self.seconds, 1),
            "failures": list(self.failures),
            "tasks": self.tasks,
            "passed": self.passed,
        }


def canonical(
    verifying: Verifying, tasks: Sequence[RepoTask], at_once: int, shown: Callable[[Shown], None]
) -> Canonical:
    """Try all tasks. Raises NotVerified where the sandbox does not work."""
    begun = time.monotonic()
    found: list[Shown] = []

    def done(one: Shown) -> None:
        found.append(one)
        shown(one)

    each(tasks, lambda task: _tried(verifying, task), at_once, done)
    bad = [one for one in found if one.why]
    return Canonical(
        tasks=len(found),
        passed=len(found) - len(bad),
        seconds=time.monotonic() - begun,
        failures=sorted(f"{one.task}: {one.why}" for one in bad),
    )


def _tried(verifying: Verifying, task: RepoTask) -> Shown:
    begun = time.monotonic()
    fixed = verifying.verdict(task, "fix")
    why = "" if fixed["passed"] else f"with its fix: {fixed['why']}"
    if not why:
        unfixed = verifying.verdict(task, "none")
        passing = [name for name in task.fail_to_pass if name not in unfixed["failing"]]
        if unfixed.get("untried"):
            why = f"without its fix: {unfixed['why']}"
        elif passing:
            why = f"without its fix: {passing[0]} passes (of {len(passing)})"
    note = fixed.get("note")
    return Shown(
        task.id, why + (f" ({note})" if why and note else ""), note, time.monotonic() - begun
    )
