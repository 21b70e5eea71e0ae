"""Jobs whose checkpoints nobody reads: given up or begun anew only where that was brought about."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.model.record import Reason
from lab.drills.chaos.checks.case import ChaosCase, Finding
from lab.drills.chaos.oplog import Struck

UNREAD = "checkpoint-unread"
"""The fault that makes a job's checkpoints unreadable; it names its `jobs`."""


def given_up(case: ChaosCase) -> Iterator[Finding]:
    """J1: no accepted job ends as `incompatible` whose checkpoints nobody has touched."""
    touched = _touched(case)
    for job in case.jobs:
        if job.reason == Reason.INCOMPATIBLE and job.id not in touched:
            yield job.id, "given up as incompatible, and all could be read"


def begun_anew(case: ChaosCase) -> Iterator[Finding]:
    """J13: what a job begun anew pays again was lost by a fault, and not by us."""
    for job_id in sorted(case.anew - _touched(case)):
        yield job_id, "it was begun anew, and its checkpoints could be read"


def _touched(case: ChaosCase) -> set[str]:
    return {job for entry in case.all(Struck) if entry.fault == UNREAD for job in entry.jobs}
