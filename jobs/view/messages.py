"""The messages of persons to a job, and which roles have read them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.model.events import Event, events_since_restart
from jobs.transitions.messages import ADDED


def list_messages(events: Sequence[Event]) -> list[dict[str, Any]]:
    """{number, at (ms), by, person, text, read_by} of each message, oldest first. `read_by`: the
    roles that have read the message since the job began or restarted."""
    readings = [
        event.data for event in events_since_restart(events) if event.kind == "messages_read"
    ]
    return [_render_message(event, readings) for event in events if event.kind == ADDED]


def _render_message(event: Event, readings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    number = event.data["number"]
    readers = (data["role"] for data in readings if number in data["messages"])
    fields = {name: event.data[name] for name in ("number", "by", "person", "text")}
    return {**fields, "at": event.at, "read_by": [*dict.fromkeys(readers)]}
