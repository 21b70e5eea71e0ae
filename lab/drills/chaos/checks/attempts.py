"""The attempts at a job, reconstructed from its events. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.model.events import FINAL_KINDS, Event
from jobs.transitions.lifecycle import CRASHES_BEFORE_ALONE

WORK = frozenset(
    {
        *("planned", "model_called", "run_finished", "repaired", "tool_used", "answered"),
        *("verified", "critiqued", "summarized"),
    }
)
"""Kinds of events that only the holder of the lease may report."""
JOURNALED = frozenset({"model_called", "run_finished", "repaired", "tool_used"})
"""Events of finished calls, which are progress in the sense of J7."""
LETS_GO = frozenset({"given_back", "lease_lost", "review_opened", *FINAL_KINDS})
"""Events that end an attempt."""
CUT_SHORT = frozenset({"given_back", "lease_lost"})
"""The kinds of events that end an attempt early, perhaps during a call."""


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """An attempt, from its `started` to the event that ended it; `end` is None if it has not ended.

    `worker` is `host:pid:random`, times are Redis' in ms.
    """

    number: int
    worker: str
    started_ms: int
    work: Sequence[Event]
    end: Event | None

    @property
    def pid(self) -> int | None:
        """The pid of the worker's process, from the worker's name."""
        parts = self.worker.split(":")
        return int(parts[-2]) if len(parts) >= 3 and parts[-2].isdigit() else None

    @property
    def progressed(self) -> bool:
        """Whether the attempt finished a call."""
        return any(event.kind in JOURNALED for event in self.work)

    @property
    def cut_short(self) -> bool:
        """Whether a call may have been in flight at its end."""
        return self.end is not None and self.end.kind in CUT_SHORT

    @property
    def next_alone(self) -> bool:
        """Whether the next attempt must run in a separate process (J7)."""
        return self.end is not None and self.end.data.get("crashes", 0) >= CRASHES_BEFORE_ALONE


def attempts(events: Sequence[Event]) -> list[RecordedAttempt]:
    """The attempts in order."""
    recorded: list[RecordedAttempt] = []
    started: Event | None = None
    work: list[Event] = []

    def close(end: Event | None) -> None:
        if started is not None:
            data = started.data
            recorded.append(
                RecordedAttempt(data["attempt"], data["worker"], started.at, tuple(work), end)
            )

    for event in events:
        if event.kind == "started":
            close(None)
            started, work = event, []
        elif event.kind in LETS_GO:
            close(event)
            started, work = None, []
        elif event.kind in WORK:
            work.append(event)
    close(None)
    return recorded
