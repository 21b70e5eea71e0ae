"""Event: a fact about a job, from its event stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from api.schemas.event import Event as EventModel
from api.schemas.event import EventHead
from cli.client.answers import Source, parse_object

FINAL = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class Event:
    """`seq` counts from 1 without gaps; `kind` and `data` are as `GET /jobs/{id}/events` says."""

    seq: int
    at: datetime
    kind: str
    data: Mapping[str, Any]

    @property
    def final(self) -> bool:
        """Whether no event can follow."""
        return self.kind in FINAL


class _AnyEvent(EventHead):
    """An event, also of a kind that this release does not know."""

    kind: str
    data: dict[str, Any]


def read_event(source: Source, text: str) -> Event:
    """An event from its JSON: {seq, at (ISO 8601), kind, data}. Raises NotFettle."""
    parse_object(source, text, _AnyEvent)
    content = parse_object(source, text, EventModel)
    at = datetime.fromisoformat(content["at"])
    return Event(content["seq"], at, content["kind"], content["data"])
