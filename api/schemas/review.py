"""Reviews and decisions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from api.schemas import patterns
from api.schemas.wire import RequestModel, ResponseModel, Time
from jobs.model.review import Action, ReviewKind

_NEEDS = {Action.EDIT: "code", Action.REVISE: "feedback", Action.REJECT: "feedback"}


class ReviewRequest(RequestModel):
    """The body of POST /jobs/{id}/review."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"action": "approve"},
                {"action": "revise", "feedback": "Handle the empty list too"},
                {"action": "edit", "code": "print('by hand')"},
                {"action": "reject", "feedback": "Not what I asked for"},
                {"action": "delegate"},
                {"action": "answer", "answers": ["ISO dates", ""]},
            ]
        }
    )

    action: Action = Field(
        description="`delegate` lets the critic decide this time, where one approval is enough"
    )
    feedback: str = Field("", max_length=20_000, description="revise and reject need it")
    code: str = Field("", max_length=200_000, description="edit needs it: it runs instead")
    review_id: str | None = Field(
        None, max_length=200, description="the review meant; 409 if another is open"
    )

    digest: str | None = Field(
        None,
        pattern=patterns.DIGEST,
        description="what was looked at, as the review's `digest`: 409 if that is not what is open",
    )

    answers: list[Annotated[str, Field(max_length=2_000)]] = Field(
        default_factory=list,
        max_length=10,
        description="with answer: one for each question, in their order; a blank or missing one "
        "leaves it to the default",
    )

    @model_validator(mode="after")
    def _complete(self) -> ReviewRequest:
        if self.code and self.action is not Action.EDIT:
            raise PydanticCustomError(
                "not_wanted",
                "{action} takes no code: it goes with edit",
                {"action": self.action, "field": "code"},
            )
        if self.answers and self.action is not Action.ANSWER:
            raise PydanticCustomError(
                "not_wanted",
                "{action} takes no answers: they go with answer",
                {"action": self.action, "field": "answers"},
            )
        needed = _NEEDS.get(self.action)
        if needed and not getattr(self, needed).strip():
            raise PydanticCustomError(
                "needed", "{action} needs {field}", {"action": self.action, "field": needed}
            )
        return self


class Approval(ResponseModel):
    """One of the approvals that a review needs."""

    by: str
    at: Time
    override: bool = False


class Review(ResponseModel):
    """The open review: all that a person needs to decide is in its payload."""

    id: str
    kind: ReviewKind
    opened_at: Time
    expires_at: Time | None = Field(None, description="when `on_expiry` counts; null: never")
    expired: bool = Field(False, description="that time is over, and the review stays open")
    digest: str = Field(
        "", description="SHA-256 over code, output and artifacts: a decision names what it is about"
    )
    approvals: list[Approval] = Field(
        default_factory=list, description="those it has, while it needs more"
    )
    approvals_needed: int = 1
    payload: dict[str, Any]


class Decision(ResponseModel):
    """What a person decided."""

    review_id: str
    action: Action
    by: str
    feedback: str = ""
    override: bool = False
    at: Time
    digest: str = Field("", description="of what was decided on")
    digest_named: bool = Field(False, description="whether the author has named it")
    approvals: list[str] = Field(default_factory=list, description="everyone who approved it")
    answers: list[str] | None = Field(None, description="to questions, in their order")


class Decided(ResponseModel):
    """Who decided what, when, on what. What an older release has not recorded is null."""

    at: Time
    job_id: str
    event: int = Field(description="the number of the job's event")
    kind: Literal["decided", "voted"] = Field(description="voted: one of two approvals")
    review_id: str | None
    action: Action
    by: str | None
    key_id: str | None
    approvals: str | None = Field(description="everyone who approved what this one closed")
    override: bool | None
    digest: str | None
    digest_named: bool | None = Field(description="whether the author named it")
    feedback: str | None


class DecidedList(ResponseModel):
    """A part of the decisions, oldest first."""

    decisions: list[Decided]
    total: int
    limit: int
    offset: int
