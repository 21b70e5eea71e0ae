"""Change or Refusal: what a decision about a job comes to."""

from __future__ import annotations

from dataclasses import dataclass, field

from jobs.delivery import Delivery
from jobs.events import NewEvent
from jobs.numbers import Counts
from jobs.record import JobRecord, Status


@dataclass(frozen=True, slots=True)
class Change:
    """A decided step: the record as it shall be, and the facts to append. `counts` are what it adds
    to the tenant's numbers (see jobs.counting), `deliveries` what a webhook is told of it.
    `paid_calls` is how many payments `counts` has of a job that ends: no more may have come."""

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
