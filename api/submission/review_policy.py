"""A job's review policy: the request's values, else the operator's settings."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from api.schemas.job_request import JobRequest, Terms
from api.schemas.problem import FieldError
from jobs.model.credentials import Signer
from jobs.model.spec import JobSpec, OnExpiry, Pause
from settings.api import ApiSettings


def policy(asked: Terms, settings: ApiSettings) -> dict[str, Any]:
    """The fields of a JobSpec about reviews: approvals, pause, expiry, reminder, escalation."""
    return {
        "approvals": asked.approvals or settings.review_approvals,
        "pause": asked.pause or Pause(settings.review_pause),
        "review_expires_seconds": asked.review_expires_seconds or settings.review_expires_seconds,
        "on_expiry": asked.on_expiry or OnExpiry(settings.review_on_expiry),
        "review_remind_seconds": asked.review_remind_seconds or settings.review_remind_seconds,
        "review_escalate_seconds": (
            asked.review_escalate_seconds or settings.review_escalate_seconds
        ),
    }


def questions_expire(asked: JobRequest, settings: ApiSettings) -> int | None:
    """Seconds until the planner's questions expire; None: never, or the job asks none."""
    if not asked.questions:
        return None
    return asked.questions_expire_seconds or settings.questions_expire_seconds


def policy_errors(asked: Terms, settings: ApiSettings) -> Iterator[FieldError]:
    """Errors for values that exclude each other, or that the operator does not allow."""
    meant = policy(asked, settings)
    least = settings.review_approvals
    if meant["approvals"] < least:
        message = f"the operator requires {least} approvals"
        yield FieldError(field="approvals", message=message, limit=least)
    elif asked.on_expiry is OnExpiry.APPROVE and meant["approvals"] > 1:
        message = "approve needs approvals: 1, since expiry cannot give a second approval"
        yield FieldError(field="on_expiry", message=message)
    decides = asked.on_expiry in (OnExpiry.APPROVE, OnExpiry.REJECT)
    if decides and meant["review_expires_seconds"] is None:
        message = f"{asked.on_expiry} on expiry needs review_expires_seconds"
        yield FieldError(field="on_expiry", message=message)


def delivery_errors(
    delivers: object, asked: Terms | JobSpec, settings: ApiSettings
) -> Iterator[FieldError]:
    """Errors of a job that may deliver a change without a person's approval, if the operator
    requires it. `delivers`: whether the job delivers at all."""
    if not delivers or not settings.deliver_needs_review:
        return
    if not asked.review:
        message = "this deployment delivers only what a person has approved: send review: true"
        yield FieldError(field="review", message=message)
    elif (asked.on_expiry or OnExpiry(settings.review_on_expiry)) is OnExpiry.APPROVE:
        message = (
            "this deployment delivers only what a person has approved, and expiry is no person: "
            "send reject or stay"
        )
        yield FieldError(field="on_expiry", message=message)


def approver_errors(
    *, review: bool, approvals: int, submitter: Signer, earlier: Collection[Signer] = ()
) -> Iterator[FieldError]:
    """The error of a job that would wait for its second approval for ever: the first key is one of
    its authors, and it has made, directly or not, each key that could approve the job. `earlier`:
    the authors of the job that it retries or rebases."""
    if not review or approvals < 2:
        return
    fault = "may approve its work, so two approvals could never come"
    first = "the first key (FETTLE_API_KEY)"
    if any(author.is_first_key for author in earlier):
        message = (
            f"{first} is an author of the earlier job, and no key that it has made {fault}: submit "
            "a new job with a person's key"
        )
        yield FieldError(field="approvals", message=message)
    elif submitter.is_first_key:
        message = (
            f"{first} would be an author, and no key that it has made {fault}: use a person's key "
            "(fettle keys create NAME --person PERSON)"
        )
        yield FieldError(field="approvals", message=message)


OF_A_REVIEW: Final = ("approvals", "pause", "review_expires_seconds", "on_expiry")
OF_A_PAUSE: Final = ("review_remind_seconds", "review_escalate_seconds")
"""These apply to the planner's questions, too."""


def unreviewed_errors(
    asked: Terms, sent: Collection[str], *, questions: bool
) -> Iterator[FieldError]:
    """Errors for what was `sent` about reviews by a job that has none: who sends `approvals: 2`
    expects to be asked."""
    if asked.review:
        return
    for name in (*OF_A_REVIEW, *(() if questions else OF_A_PAUSE)):
        if name in sent and getattr(asked, name) is not None:
            yield FieldError(field=name, message="needs review: true")
