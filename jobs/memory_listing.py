"""Jobs of one process by what they have in common: pages of a listing, and how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jobs import words
from jobs.deciding import barred
from jobs.record import JobRecord, Status
from jobs.sought import Sought
from jobs.spec import Priority
from jobs.store import Page


def page(
    records: Iterable[JobRecord], tenant: str, sought: Sought, *, limit: int, offset: int
) -> Page:
    """A tenant's jobs, newest first; what waits for somebody, oldest first."""
    found = [record for record in records if record.tenant == tenant and _fits(record, sought)]
    newest = sought.waits_for is None
    found.sort(key=lambda record: (record.created_at, record.id), reverse=newest)
    return Page(found[offset : offset + limit], len(found))


def _fits(record: JobRecord, sought: Sought) -> bool:
    asked = words.asked(sought.text)
    return (
        record.spec.kind is sought.kind
        and sought.statuses <= {record.status}
        and (sought.label is None or sought.label in record.spec.labels)
        and (not sought.text or (bool(asked) and words.found(record, asked)))
        and not barred(record) & sought.marks
    )


def counts(records: Iterable[JobRecord]) -> Mapping[Status, int]:
    """How many jobs stand in each status."""
    statuses = [record.status for record in records]
    return {status: statuses.count(status) for status in Status}


def queue_depth(records: Iterable[JobRecord]) -> Mapping[Priority, int]:
    """How many of these jobs have each priority."""
    waiting = [record.spec.priority for record in records]
    return {priority: waiting.count(priority) for priority in Priority}


def due(records: Iterable[JobRecord], now: int, limit: int) -> Sequence[str]:
    """Jobs that are queued or running, and whose time has come."""
    waiting = (Status.QUEUED, Status.RUNNING)
    looks = ((record.due_at, record.id) for record in records if record.status in waiting)
    return _first(limit, ((at, job_id) for at, job_id in looks if at <= now))


def overdue(records: Iterable[JobRecord], now: int, limit: int) -> Sequence[str]:
    """Jobs whose review is to be looked at."""
    opened = ((record.review.look_at, record.id) for record in records if record.review)
    return _first(limit, ((at, job_id) for at, job_id in opened if at and at <= now))


def finished(records: Iterable[JobRecord], before: int, limit: int) -> Sequence[str]:
    """Final jobs that ended before a time."""
    ended = ((record.updated_at, record.id) for record in records if record.status.final)
    return _first(limit, ((at, job_id) for at, job_id in ended if at < before))


def _first(limit: int, timed: Iterable[tuple[int, str]]) -> Sequence[str]:
    return [job_id for _, job_id in sorted(timed)[:limit]]
