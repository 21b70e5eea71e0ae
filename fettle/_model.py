"""The base of the models of answers (`fettle.types`), and events of unknown kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A part of an answer. It keeps fields that a newer service sends: they are attributes, too."""

    # Pydantic builds a validator when it is first used: most programs use few of the models.
    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True, serialize_by_alias=True)


class UnknownEvent(Model):
    """An event of a kind that this release does not know: the service is newer."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: str
    data: dict[str, Any]


UNKNOWN = "unknown"
"""The tag of UnknownEvent in the union of events."""


def tag_among(kinds: frozenset[str]) -> Callable[[Any], str | None]:
    """A function from an event, or from its JSON object, to its tag in the union of events."""

    def tag(event: Any) -> str | None:
        kind = event.get("kind") if isinstance(event, Mapping) else getattr(event, "kind", None)
        if isinstance(kind, str):
            return kind if kind in kinds else UNKNOWN
        return None

    return tag
