"""RFC 9457 problems."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from api.schemas.wire import Told


class FieldError(Told):
    """What is wrong with one field."""

    field: str
    message: str
    limit: Any = None


class Problem(Told):
    """Why a request was refused."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "/problems/wrong-state",
                    "title": "The job is in another state",
                    "status": 409,
                    "detail": "the job is succeeded",
                    "retryable": False,
                    "state": "succeeded",
                }
            ]
        }
    )

    type: str = Field(description="a URI reference that explains this kind of problem")
    title: str
    status: int
    detail: str
    retryable: bool = Field(description="whether the same request may succeed later")
    request_id: str = ""
    errors: list[FieldError] | None = None


class ProblemKind(Told):
    """The explanation of a kind of problem."""

    type: str
    title: str
    status: int
    retryable: bool
    explanation: str
