"""Base classes: request models are strict, response models may grow."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, WithJsonSchema


def _require_time(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("the time has no offset from UTC")
    return text


Time = Annotated[
    str,
    AfterValidator(_require_time),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""ISO 8601 in UTC, as `jobs.view.job.iso` writes it: a string, described as a time."""
Date = Annotated[str, WithJsonSchema({"type": "string", "format": "date"})]
"""A day (UTC)."""


class RequestModel(BaseModel):
    """A request's body: no conversion of types, no unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ResponseModel(BaseModel):
    """A part of a response: an older client can read a newer server's."""

    model_config = ConfigDict(extra="allow", frozen=True)
