"""Sought: which of a tenant's jobs are asked for."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import TypedDict

from jobs.person import Person
from jobs.record import Status
from jobs.spec import Kind


class SoughtFields(TypedDict, total=False):
    """A Sought as arguments of a call."""

    status: Status | None
    label: str | None
    text: str
    kind: Kind
    waits_for: Person | None


@dataclass(frozen=True, slots=True)
class Sought:
    """All of it holds for what is found. `text`: see jobs.words. `waits_for`: the job waits for a
    person, and this one's approval would count."""

    status: Status | None = None
    label: str | None = None
    text: str = ""
    kind: Kind = Kind.TASK
    waits_for: Person | None = None

    @property
    def statuses(self) -> frozenset[Status]:
        """The status a job must be in: each of these."""
        waits = {Status.AWAITING_REVIEW} if self.waits_for is not None else set()
        return frozenset({self.status} if self.status is not None else set()) | waits

    @property
    def marks(self) -> frozenset[str]:
        """What a job must not be barred to."""
        return self.waits_for.marks if self.waits_for is not None else frozenset()
