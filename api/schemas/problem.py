"""RFC 9457 problems."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from api.schemas.fields import ResponseModel
from jobs.model.record import Status
from jobs.model.review import Action


class FieldError(ResponseModel):
    """An error in one field."""

    field: str
    message: str
    limit: Any = None


class PastDecision(ResponseModel):
    """An earlier decision on a review."""

    review_id: str
    action: Action
    by: str


class Problem(ResponseModel):
    """Why a request was refused."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "/problems/wrong-state",
                    "title": "The job is in another state",
                    "status": 409,
                    "detail": "this job has already succeeded: it cannot be cancelled",
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
    errors: list[FieldError] | None = Field(None, description="of a request that is not valid")
    scope: str | None = Field(None, description="the scope that the key lacks")
    state: Status | None = Field(None, description="the job's status, where it is the reason")
    limit: Any = Field(None, description="the limit that was exceeded")
    missing: list[str] | None = Field(None, description="what the service needs")
    review_id: str | None = Field(None, description="the open review's id")
    digest: str | None = Field(None, description="the open review's digest")
    decision: PastDecision | None = Field(None, description="the decision that came first")


class ProblemKind(ResponseModel):
    """The explanation of a kind of problem."""

    type: str
    title: str
    status: int
    retryable: bool
    explanation: str
