"""Checks the shipped fixes, without a model: with the fix every test of a task passes, without it
no test of `fail_to_pass` passes. And checks that jobs combine two halves of a fix.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fettle import Service
from lab.evals.repos.job import worker
from lab.evals.repos.scripted import TERMS
from lab.evals.repos.task import RepoTask
from lab.evals.repos.verifying import Verifying
from lab.evals.run.request import MeasurementRequest
from lab.evals.run.tries import Try, for_each


@dataclass(frozen=True, slots=True)
class FixCheck:
    """The check of a task. `problem` is empty if the fix behaves as expected."""

    task: str
    problem: str
    note: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class FixReport:
    """`passed` counts the tasks with a fix that behaves as expected."""

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


def check_fixes(
    verifying: Verifying,
    tasks: Sequence[RepoTask],
    at_once: int,
    report: Callable[[FixCheck], None],
) -> FixReport:
    """Try all tasks. Raises NotVerified if the sandbox does not work."""
    return _check_each(tasks, lambda task: _check_fix(verifying, task), at_once, report)


def check_halves(
    service: Service,
    request: MeasurementRequest,
    verifying: Verifying,
    tasks: Sequence[RepoTask],
    at_once: int,
    report: Callable[[FixCheck], None],
) -> FixReport:
    """Let jobs of the service, whose model is `scripted.ShippedFixes`, make each fix in two halves.
    Raises NotVerified, and the client's errors."""
    work = worker(verifying, TERMS)

    def check(task: RepoTask) -> FixCheck:
        result = work(service, request, Try(task, 1, secrets.token_hex(16)))
        verdict = result.final
        problem = result.why_not or ("" if verdict and verdict.passed else verdict and verdict.why)
        return FixCheck(task.id, problem or "", None, result.seconds)

    return _check_each(tasks, check, at_once, report)


def _check_each(
    tasks: Sequence[RepoTask],
    check: Callable[[RepoTask], FixCheck],
    at_once: int,
    report: Callable[[FixCheck], None],
) -> FixReport:
    started_at = time.monotonic()
    checks: list[FixCheck] = []

    def done(result: FixCheck) -> None:
        checks.append(result)
        report(result)

    for_each(tasks, check, at_once, done)
    bad = [result for result in checks if result.problem]
    return FixReport(
        tasks=len(checks),
        passed=len(checks) - len(bad),
        seconds=time.monotonic() - started_at,
        failures=sorted(f"{result.task}: {result.problem}" for result in bad),
    )


def _check_fix(verifying: Verifying, task: RepoTask) -> FixCheck:
    started_at = time.monotonic()
    fixed = verifying.verdict(task, "fix")
    problem = "" if fixed["passed"] else f"with its fix: {fixed['why']}"
    if not problem:
        unfixed = verifying.verdict(task, "none")
        passing = [name for name in task.fail_to_pass if name not in unfixed["failing"]]
        if unfixed.get("untried"):
            problem = f"without its fix: {unfixed['why']}"
        elif passing:
            problem = f"without its fix: {passing[0]} passes (of {len(passing)})"
    note = fixed.get("note")
    return FixCheck(
        task.id,
        problem + (f" ({note})" if problem and note else ""),
        note,
        time.monotonic() - started_at,
    )
