"""The two kinds of models: what comes in is strict, what goes out may grow."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, WithJsonSchema

Time = Annotated[str, WithJsonSchema({"type": "string", "format": "date-time"})]
"""ISO 8601 in UTC, as `jobs.view.job.iso` writes it: a text here, and described as a time."""
Date = Annotated[str, WithJsonSchema({"type": "string", "format": "date"})]
"""A day (UTC)."""


class RequestModel(BaseModel):
    """A request's body: no guessing of types, no field that we do not know."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ResponseModel(BaseModel):
    """A part of an answer: an older client reads a newer server's."""

    model_config = ConfigDict(extra="allow", frozen=True)
