"""Decisions: who decided what, over all jobs of a tenant. An index of events, which tell it.

They are kept as long as their jobs: who has to keep them for longer exports them (docs/review.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from jobs.events import Event, NewEvent
from jobs.record import JobRecord

KINDS = ("voted", "decided")
COLUMNS = (
    *("at", "job_id", "event", "kind", "review_id", "action", "by", "key_id", "approvals"),
    *("override", "digest", "digest_named", "feedback"),
)


@dataclass(frozen=True, slots=True)
class Decided:
    """An event of a job that is a decision."""

    job_id: str
    event: Event


class Decisions(Protocol):
    """Where they are found. Raises StoreUnavailable when that cannot be reached in time."""

    async def between(
        self, tenant: str, start: int, end: int, *, limit: int, offset: int
    ) -> tuple[Sequence[Decided], int]:
        """Those told from `start` on and before `end` (ms), the oldest first; and how many."""
        ...


class MemoryDecisions:
    """The Decisions of one process, over its records and events."""

    def __init__(
        self, records: dict[str, JobRecord], events: Callable[[str, int], Sequence[Event]]
    ) -> None:
        self._records = records
        self._events = events

    async def between(
        self, tenant: str, start: int, end: int, *, limit: int, offset: int
    ) -> tuple[Sequence[Decided], int]:
        """See Decisions."""
        found = [
            Decided(record.id, event)
            for record in self._records.values()
            if record.tenant == tenant
            for event in self._events(record.id, 0)
            if event.kind in KINDS and start <= event.at < end
        ]
        found.sort(key=lambda each: (each.event.at, f"{each.job_id}:{each.event.seq}"))
        return found[offset : offset + limit], len(found)


def noted(events: Iterable[NewEvent]) -> list[str]:
    """The keys of those events that are decisions."""
    return [event.key for event in events if event.kind in KINDS]


def row(decided: Decided, at: str | None) -> dict[str, Any]:
    """A decision with COLUMNS; what an older release has not recorded is null."""
    data = decided.event.data
    votes = data.get("approvals")
    return {
        "at": at,
        "job_id": decided.job_id,
        "event": decided.event.seq,
        "kind": decided.event.kind,
        "review_id": data.get("review_id"),
        "action": data.get("action", "approve"),
        "by": data.get("by"),
        "key_id": data.get("key_id"),
        "approvals": " and ".join(votes) if isinstance(votes, list) else None,
        "override": data.get("override"),
        "digest": data.get("digest"),
        "digest_named": data.get("digest_named"),
        "feedback": data.get("feedback"),
    }
