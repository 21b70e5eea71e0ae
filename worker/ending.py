"""What a job hands back when its graph has come to an end, and whether that is a success. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.outcome import Outcome
from jobs.record import Result
from jobs.spec import JobSpec, OnExhausted


def result_of(ended: Outcome) -> Result:
    """What is handed back, approved or not."""
    return Result(
        answer=ended.answer,
        approved_by=ended.approved_by,
        artifacts=tuple(ended.artifacts),
        override=ended.override,
        checks=ended.checks,
        verification=ended.verification,
    )


def why_unapproved(spec: JobSpec, ended: Outcome) -> str | None:
    """Why the job fails; None where it succeeds: it was approved, or is accepted as it is because
    the caller wished so, which never holds while its acceptance checks fail."""
    if ended.approved:
        return None
    checks = _checks_problem(spec, ended.checks)
    if spec.on_exhausted is OnExhausted.ACCEPT and checks is None:
        return None
    why = f"not approved: {ended.ends}" if ended.ends else _used_up(spec)
    problem = (ended.verification or {}).get("problem")
    return "; ".join(part for part in (why, checks, problem) if part)


def _used_up(spec: JobSpec) -> str:
    count = spec.max_revisions if spec.repair else 1
    return f"not approved within {count} revision{'' if count == 1 else 's'}"


def _checks_problem(spec: JobSpec, report: Mapping[str, Any] | None) -> str | None:
    """Why the acceptance checks do not speak for the work; None where they do, or there are none
    (a tester that has written no test leaves none)."""
    if report is None:
        return None if spec.checks is None else "its acceptance checks have not run"
    if report["passed"]:
        return None
    tests = report["tests"]
    passed = sum(test["outcome"] == "passed" for test in tests)
    return f"its acceptance checks do not pass ({passed} of {len(tests)} tests do)"
