"""Change or Refusal: what a decision about a job comes to."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.events import NewEvent
from jobs.record import JobRecord, Status


@dataclass(frozen=True, slots=True)
class Change:
    """A decided step: the record as it shall be, and the facts to append."""

    after: JobRecord
    events: tuple[NewEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command does not apply: `code` for programs, `detail` for people."""

    code: str
    detail: str
    status: Status | None = None
