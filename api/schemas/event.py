"""Events as they are told."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.schemas.wire import Told


class Event(Told):
    """A past-tense fact about a job."""

    seq: int = Field(description="counts from 1, without gaps")
    at: str
    kind: str
    data: dict[str, Any]


class EventList(Told):
    """The events after a number."""

    events: list[Event]
    final: bool = Field(description="whether no event can follow the last of these")
