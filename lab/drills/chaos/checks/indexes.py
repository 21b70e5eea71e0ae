"""J3: a job that is not final is in exactly one index, and every list agrees with the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jobs.model.record import Status
from lab.drills.chaos.checks.case import ChaosCase, Finding
from lab.drills.chaos.deployment.reading import Indexes, JobRead


def indexed(case: ChaosCase) -> Iterator[Finding]:
    """Compare records with indexes, and indexes with records."""
    indexes = case.reading.indexes
    for job in case.jobs:
        yield from _placed(job, indexes)
        yield from _in_line(job, indexes)
        yield from _listed(job, indexes)
    yield from _strays(case, indexes)
    yield from _counted(case, indexes)


def _placed(job: JobRead, indexes: Indexes) -> Iterator[Finding]:
    waits = job.status is Status.AWAITING_REVIEW
    memberships = {
        "due": (job.id in indexes.due, not waits and not job.status.final),
        "awaiting_review": (job.id in indexes.awaiting_review, waits),
        "finished": (job.id in indexes.finished, job.status.final),
    }
    for name, (is_there, belongs) in memberships.items():
        if is_there != belongs:
            verb = "is in" if is_there else "is not in"
            yield job.id, f"{job.status}, and {verb} `{name}`"
    due = indexes.due.get(job.id)
    if due is not None and due != job.due_at:
        yield job.id, f"due at {due}, its record says {job.due_at}"


def _in_line(job: JobRead, indexes: Indexes) -> Iterator[Finding]:
    stands = list(indexes.lines.get(job.line, ())).count(job.id)
    if stands != (0 if job.status.final else 1):
        yield job.id, f"{job.status}, and {stands} times in its line"


def _listed(job: JobRead, indexes: Indexes) -> Iterator[Finding]:
    under = sorted(status for status, ids in indexes.listed.items() if job.id in ids)
    if under != [job.status]:
        yield job.id, f"{job.status}, and listed under {under}"


def _strays(case: ChaosCase, indexes: Indexes) -> Iterator[Finding]:
    memberships = {
        "due": indexes.due,
        "awaiting_review": indexes.awaiting_review,
        "finished": indexes.finished,
    }
    for name, ids in memberships.items():
        for job_id in ids:
            if job_id not in case.reading.jobs:
                yield job_id, f"in `{name}`, and not on record"


def _counted(case: ChaosCase, indexes: Indexes) -> Iterator[Finding]:
    expected = Counter(job.status for job in case.jobs)
    for status in Status:
        counted = indexes.counts.get(status, 0)
        if counted != expected[status]:
            yield ("", f"{counted} jobs counted as {status}, there are {expected[status]}")
