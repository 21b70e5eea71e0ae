"""Change or Refusal: what a decision about a job comes to; and the deliveries of a change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.events import NewEvent
from jobs.record import JobRecord, Status

Counts = Mapping[str, int]


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
