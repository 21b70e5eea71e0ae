"""Jobs of one process by what they have in common: pages of a listing, and how many there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from jobs.record import JobRecord, Status
from jobs.spec import Priority
from jobs.store import Page


def page(
    records: Iterable[JobRecord],
    tenant: str,
    *,
    limit: int,
    offset: int,
    status: Status | None,
    label: str | None,
) -> Page:
    """A tenant's jobs, newest first."""
    found = [
        record
        for record in records
        if record.tenant == tenant
        and status in (None, record.status)
        and (label is None or label in record.spec.labels)
    ]
    found.sort(key=lambda record: (record.created_at, record.id), reverse=True)
    return Page(found[offset : offset + limit], len(found))


def counts(records: Iterable[JobRecord]) -> Mapping[Status, int]:
    """How many jobs stand in each status."""
    statuses = [record.status for record in records]
    return {status: statuses.count(status) for status in Status}


def queue_depth(records: Iterable[JobRecord]) -> Mapping[Priority, int]:
    """How many jobs are queued in each priority."""
    waiting = [record.spec.priority for record in records if record.status is Status.QUEUED]
    return {priority: waiting.count(priority) for priority in Priority}
