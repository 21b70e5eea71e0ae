"""Change or Refusal: the result of a command on a job; and what transitions have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jobs.model.events import NewEvent
from jobs.model.record import JobRecord, Reason, Result, Status

Counts = Mapping[str, int]
FIRST_HINT_MS = 1_000
"""How long a hint may take before the sweeper sends another; doubled for each one (no floods)."""
AFTER_CRASH_MS = 250
"""The same for a dead worker's job. A worker that hangs still takes the one hint that it had asked
for, and a killed worker loses it: the third must come in time for J8."""
IN_LINE_MS = 3_600_000
"""How often the sweeper looks at a job that waits for another of its conversation. The step that
ends the other makes it due, so this only guards against a damaged line."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to the operator's webhook. `id` is the same at every try; times in ms; `error` is
    the last try's."""

    id: str
    type: str
    tenant: str
    job_id: str
    at: int
    data: Mapping[str, Any]
    tries: int = 0
    error: str = ""
    due_at: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """A decided step: the new record, and the events to append. `counts` are what it adds to the
    tenant's statistics (see jobs.counting), `deliveries` the messages to the webhook. `paid_calls`
    is the number of payments in `counts` when a job ends: none may have been added since."""

    after: JobRecord
    events: tuple[NewEvent, ...] = ()
    counts: Counts = field(default_factory=dict)
    deliveries: tuple[Delivery, ...] = ()
    paid_calls: int | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command does not apply: `code` for programs, `detail` for people."""

    code: str
    detail: str
    status: Status | None = None


def next_version(record: JobRecord, now: int, **fields: Any) -> JobRecord:
    """The next version of a record."""
    return replace(record, version=record.version + 1, updated_at=now, **fields)


def release_lease(record: JobRecord, now: int, **fields: Any) -> JobRecord:
    """The next version, without a lease; earlier crashes no longer count."""
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
    """The fields of a queued job with a hint on its way. After `wait` ms the sweeper sends another,
    in case the hint was lost. It delays nothing: a worker may claim the job at once. To delay a
    job, set `due_at` without a hint (`hints=0`), as `lifecycle.retry` does."""
    return {"status": Status.QUEUED, "hints": 1, "due_at": now + wait}


def end(
    record: JobRecord,
    now: int,
    status: Status,
    *,
    reason: Reason | None = None,
    detail: str = "",
    result: Result | None = None,
    by: str = "",
) -> Change:
    """The final state, and its event."""
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
            data = {"approved_by": approver, "unapproved": after.unapproved}
        case Status.CANCELLED:
            data = {"by": by}
        case _:
            data = {"reason": reason, "detail": detail}
    return Change(after, (NewEvent("final", str(status), data),))


def refuse_not_running(record: JobRecord) -> Refusal:
    """Why an attempt's command does not apply."""
    return Refusal("not_running", f"the job is {record.status}", record.status)
