"""Change or Refusal: the result of a command on a job. Also the common parts of transitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jobs.model.events import NewEvent
from jobs.model.record import JobRecord, Reason, Result, Status

Counts = Mapping[str, int]
FIRST_HINT_MS = 1_000
"""The sweeper sends another hint after this time. The time doubles with each hint."""
AFTER_CRASH_MS = 250
"""The first interval of hints after a crash. A worker that hangs still takes the hint that it had
requested, and a killed worker loses it: the third hint must come in time for J8."""
IN_LINE_MS = 3_600_000
"""How often the sweeper looks at a job that waits for another job of its conversation. The end of
the other job makes it due, so this interval only repairs a damaged line."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to one webhook."""

    id: str
    """The same at every try."""
    type: str
    tenant: str
    job_id: str
    at: int
    """The time in ms."""
    data: Mapping[str, Any]
    tries: int = 0
    """The number of tries so far."""
    error: str = ""
    """The error of the last try."""
    due_at: int = 0
    """The time of the next try (ms)."""
    webhook: str = ""
    """The id of the tenant's webhook. '': the operator's webhook."""


@dataclass(frozen=True, slots=True)
class Change:
    """The decided effect of a command."""

    after: JobRecord
    events: tuple[NewEvent, ...] = ()
    """The events to append."""
    counts: Counts = field(default_factory=dict)
    """The counts that it adds to the tenant's statistics: see `jobs.counting`."""
    deliveries: tuple[Delivery, ...] = ()
    """The messages to webhooks."""
    paid_calls: int | None = None
    """If the change ends the job: the number of charges in `counts`. The commit fails if a charge
    was added since."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a command does not apply."""

    code: str
    """The reason, for programs."""
    detail: str
    """The reason, for people."""
    status: Status | None = None
    """The status of the job."""


def next_version(record: JobRecord, now: int, **fields: Any) -> JobRecord:
    """The next version of a record."""
    return replace(record, version=record.version + 1, updated_at=now, **fields)


def release_lease(record: JobRecord, now: int, **fields: Any) -> JobRecord:
    """The next version, without a lease, with the running time of the attempt. Earlier crashes no
    longer count."""
    return next_version(
        record,
        now,
        lease=None,
        claimed_at=None,
        ends_by=None,
        crashes=0,
        ran_ms=record.ran(now),
        **fields,
    )


def queued_fields(now: int, wait: int = FIRST_HINT_MS) -> dict[str, Any]:
    """The fields of a queued job with a hint in flight.

    If the hint is lost, the sweeper sends another hint after `wait` ms. `wait` delays nothing: a
    worker may claim the job at once. To delay a job, set `due_at` without a hint (`hints=0`), as
    `lifecycle.retry` does.
    """
    return {"status": Status.QUEUED, "hints": 1, "due_at": now + wait}


def end(
    record: JobRecord,
    now: int,
    status: Status,
    *,
    reason: Reason | None = None,
    detail: str = "",
    result: Result | None = None,
    cancelled: Mapping[str, str] | None = None,
) -> Change:
    """The change that ends a job. `cancelled`: the person, as `by`, `key_id` and `person`."""
    released = release_lease(record, now, status=status)
    after = replace(
        released,
        finished_at=now,
        review=None,
        wait=None,
        reason=reason,
        detail=detail,
        result=result,
    )
    data: dict[str, Any]
    match status:
        case Status.SUCCEEDED:
            approver = result.approved_by if result else None
            data = {
                "approved_by": approver,
                "unapproved": after.unapproved,
                "override": after.override,
            }
        case Status.CANCELLED:
            data = dict(cancelled or {})
        case _:
            data = {"reason": reason, "detail": detail}
    return Change(after, (NewEvent("final", str(status), data),))


def refuse_not_running(record: JobRecord) -> Refusal:
    """The refusal of an attempt's command."""
    return Refusal("not_running", f"the job is {record.status}", record.status)
