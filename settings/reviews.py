"""Settings of reviews, which apply to terms that a job leaves out."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from settings.base import FettleSettings
from settings.review_policy import PolicyField


class DeliverySettings(FettleSettings):
    """Settings that API and workers need with the same values."""

    deliver_needs_review: bool = Field(
        False,
        description="whether a change leaves the deployment only after a person's approval: a job "
        "that delivers has to ask for a review, and neither the critic nor an expired review can "
        "approve it; the same for API and workers",
    )


class ReviewSettings(DeliverySettings):
    """Times in seconds."""

    review_policy: PolicyField = Field(
        None,
        description="file with [review rules](review.md#review-rules) by repository and label; "
        "unset: no rules. The API reads it when it starts",
    )
    review_approvals: int = Field(
        1,
        ge=1,
        le=2,
        description="approvals that a review takes; two come from two people, neither of whom "
        "submitted the job. A job may ask for more, not for fewer",
    )
    review_pause: Literal["before_critic", "every_run"] = Field(
        "before_critic",
        description="when a reviewed job pauses: before the critic, or also after every run",
    )
    review_expires_seconds: int | None = Field(
        None, ge=1, description="how long a review waits for a person; unset: forever"
    )
    review_on_expiry: Literal["approve", "reject", "stay"] = Field(
        "stay", description="the outcome of an expired review: approve, reject, or stay open"
    )
    questions_expire_seconds: int | None = Field(
        None,
        ge=1,
        description="how long a planner's questions wait for answers before its own defaults "
        "apply; unset: forever",
    )
    review_remind_seconds: int | None = Field(
        None, ge=1, description="when a webhook reminds of a review that still waits"
    )
    review_escalate_seconds: int | None = Field(
        None, ge=1, description="when a webhook reports that a review is escalated"
    )

    @model_validator(mode="after")
    def _not_by_the_clock_alone(self) -> Self:
        if self.review_approvals > 1 and self.review_on_expiry == "approve":
            raise ValueError(
                f"FETTLE_REVIEW_ON_EXPIRY=approve can never approve if FETTLE_REVIEW_APPROVALS is "
                f"{self.review_approvals}, because expiry is not a person's approval: set it to "
                "reject or stay"
            )
        return self

    @model_validator(mode="after")
    def _in_time(self) -> Self:
        remind, escalate = self.review_remind_seconds, self.review_escalate_seconds
        if remind is not None and escalate is not None and remind >= escalate:
            raise ValueError(
                f"FETTLE_REVIEW_REMIND_SECONDS is {remind}, so the reminder would come after the "
                "escalation: set it to less than FETTLE_REVIEW_ESCALATE_SECONDS, which is "
                f"{escalate}"
            )
        return self
