"""The events of a job, and its output while it is written, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from fettle import types
from fettle._model import UnknownEvent
from fettle.answers import AnswerSource, parse_object

FINAL = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """`seq` counts from 1 without gaps; `kind` and `data` are as `GET /jobs/{id}/events` says."""

    seq: int
    at: datetime
    kind: str
    data: Mapping[str, Any]

    @property
    def final(self) -> bool:
        """Whether no event can follow."""
        return self.kind in FINAL


class StreamedText(BaseModel):
    """Output of a model or a run, while it is written. It is no event: it has no number."""

    call: str
    role: str
    part: str
    text: str
    attempt: int = Field(alias="try")
    command: str = ""
    seconds: float = 0.0


Hear = Callable[[Mapping[str, Any]], None]
"""Takes the fields of a StreamedText: see `GET /jobs/{id}/events?tokens=true`."""


def read_event(source: AnswerSource, text: str) -> ReceivedEvent:
    """An event from its JSON: {seq, at (ISO 8601), kind, data}. Raises NotFettle."""
    parse_object(source, text, UnknownEvent)
    content = parse_object(source, text, types.EVENTS)
    at = datetime.fromisoformat(content["at"])
    return ReceivedEvent(content["seq"], at, content["kind"], content["data"])
