"""Jobs with unreadable checkpoints: they fail or restart only if a fault damaged them."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.model.record import Reason
from lab.drills.chaos.checks.case import ChaosCase, Finding
from lab.drills.chaos.oplog import Struck

UNREAD = "checkpoint-unread"
"""The fault that makes a job's checkpoints unreadable; it names its `jobs`."""


def given_up(case: ChaosCase) -> Iterator[Finding]:
    """J1: no accepted job ends as `incompatible` unless a fault has damaged its checkpoints."""
    touched = _touched(case)
    for job in case.jobs:
        if job.reason == Reason.INCOMPATIBLE and job.id not in touched:
            yield job.id, "given up as incompatible, and all could be read"


def begun_anew(case: ChaosCase) -> Iterator[Finding]:
    """J13: a job restarts and pays its calls again only if a fault damaged its checkpoints."""
    for job_id in sorted(case.anew - _touched(case)):
        yield job_id, "it was begun anew, and its checkpoints could be read"


def _touched(case: ChaosCase) -> set[str]:
    return {job for entry in case.all(Struck) if entry.fault == UNREAD for job in entry.jobs}
