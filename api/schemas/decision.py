"""Decisions as auditors read them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from api.schemas.wire import Time, Told
from jobs.review import Action


class Decided(Told):
    """Who decided what, when, on what. What an older release has not recorded is null."""

    at: Time
    job_id: str
    event: int = Field(description="the number of the job's event that tells it")
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


class DecidedList(Told):
    """A part of the decisions, oldest first."""

    decisions: list[Decided]
    total: int
    limit: int
    offset: int
