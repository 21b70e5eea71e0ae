"""RFC 9457 problems."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from api.schemas.wire import ResponseModel
from jobs.model.record import Status
from jobs.model.review import Action


class FieldError(ResponseModel):
    """What is wrong with one field."""

    field: str
    message: str
    limit: Any = None


class PastDecision(ResponseModel):
    """What was decided on a review, and by whom."""

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
    errors: list[FieldError] | None = Field(None, description="of a request that is not valid")
    scope: str | None = Field(None, description="what a key lacks")
    state: Status | None = Field(None, description="the job's, where that is why")
    limit: Any = Field(None, description="what was exceeded")
    missing: list[str] | None = Field(None, description="what the service lacks")
    review_id: str | None = Field(None, description="of the review that is open")
    digest: str | None = Field(None, description="of what that shows")
    decision: PastDecision | None = Field(None, description="what was decided meanwhile")


class ProblemKind(ResponseModel):
    """The explanation of a kind of problem."""

    type: str
    title: str
    status: int
    retryable: bool
    explanation: str
