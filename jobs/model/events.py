"""Event: a past-tense fact about a job, appended once, numbered without gaps from 1 (J12).

The data of each kind is declared in `jobs.model.event_data`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.model import event_data

EVENTS_AT_ONCE = 16
"""The events that a reader of a stream gets at a time."""
FINAL_KINDS = frozenset({"succeeded", "failed", "cancelled"})
WORK = frozenset(event_data.WORK)
"""The kinds of events of work. The other kinds are of the job's own life."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A fact that is to be appended."""

    key: str
    """A deterministic key. If an event with this key is on record, the new event is dropped."""
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """A fact on record."""

    seq: int
    """Its number, from 1."""
    at: int
    """Redis' time in ms."""
    kind: str
    data: Mapping[str, Any]
    epoch: int | None = None
    """The epoch of the attempt that reported the event. None: an event of the job's own life, or an
    event that Fettle 0.1.0 wrote."""

    @property
    def final(self) -> bool:
        """Whether this is the job's last event."""
        return self.kind in FINAL_KINDS


def events_since_restart(events: Sequence[Event]) -> Sequence[Event]:
    """The events since the job was restarted from its task, or all events. Earlier work is
    discarded."""
    restart_positions = [
        position for position, event in enumerate(events, start=1) if event.kind == "begun_anew"
    ]
    return events[restart_positions[-1] :] if restart_positions else events


_ACTIVITIES = {
    "fetch_started": "fetches the repository",
    "setup_started": "installs the dependencies",
    "model_called": "acts on the reply of the model",
    "step_started": "works on the step",
    "answered": "verifies the work",
    "checked": "verifies the work",
}
"""The activity of a running job that follows an event of this kind."""


def describe_activity(event: Event) -> str:
    """What a running job does after its newest event, such as `waits for a reply of a model`."""
    return _ACTIVITIES.get(event.kind, "waits for a reply of a model")


def describe_progress(events: Sequence[Event]) -> str:
    """The last finished work of a job, as text."""
    last_event = next((event for event in reversed(events) if event.kind in WORK), None)
    if last_event is None:
        return "before its first call had finished"
    names = (last_event.data.get(name) for name in ("role", "id", "tool"))
    subject = next((f" ({name})" for name in names if name), "")
    return f"after event {last_event.seq}, {last_event.kind}{subject}"
