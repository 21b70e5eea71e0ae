"""Settings of reviews: what holds where a job does not say."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from settings.base import FettleSettings


class ReviewSettings(FettleSettings):
    """Times in seconds."""

    review_approvals: int = Field(
        1,
        ge=1,
        le=2,
        description="approvals that a review takes: two are of two people, neither of whom brought "
        "the job. A job may ask for more, not for fewer",
    )
    review_pause: Literal["before_critic", "every_run"] = Field(
        "before_critic",
        description="when a reviewed job pauses: before the critic, or behind every run, too",
    )
    review_expires_seconds: int | None = Field(
        None, ge=1, description="how long a review waits for a person; else for ever"
    )
    review_on_expiry: Literal["approve", "reject", "stay"] = Field(
        "stay", description="what counts then: approve, reject, or it stays open"
    )
    questions_expire_seconds: int | None = Field(
        None,
        ge=1,
        description="how long a planner's questions wait for answers, before its own defaults "
        "count; else for ever",
    )
    review_remind_seconds: int | None = Field(
        None, ge=1, description="after how long a webhook reminds of a review that still waits"
    )
    review_escalate_seconds: int | None = Field(
        None, ge=1, description="after how long a webhook tells that it is escalated"
    )
