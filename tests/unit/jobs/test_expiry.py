"""A review that nobody has answered in time: what then counts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from job_examples import NOW, claimed, decision, queued, review

from jobs import expiry, lifecycle
from jobs.lifecycle import Change, Refusal
from jobs.record import JobRecord, Reason, Status
from jobs.review import Action, ReviewKind
from jobs.spec import OnExpiry

LATE = NOW + 60_000


def paused(
    on_expiry: OnExpiry, kind: ReviewKind = ReviewKind.REVIEW, seconds: int | None = 60
) -> JobRecord:
    """A job whose review was opened at NOW."""
    record = claimed(queued(review_expires_seconds=seconds, on_expiry=on_expiry))
    change = lifecycle.pause(record, NOW, review=replace(review(), kind=kind))
    assert isinstance(change, Change)
    return change.after


def expired(record: JobRecord, *, evidence: bool = True) -> Change:
    change = expiry.expire(record, LATE, evidence=evidence)
    assert isinstance(change, Change)
    return change


def kinds(change: Change) -> list[str]:
    return [event.kind for event in change.events]


@pytest.mark.invariant("J10")
def test_approval_resumes_the_job_and_is_signed_by_nobody():
    change = expired(paused(OnExpiry.APPROVE))
    assert kinds(change) == ["review_expired", "decided"]
    after = change.after
    assert (after.status, after.review, after.hints) == (Status.QUEUED, None, 1)
    assert after.decision is not None
    assert (after.decision.action, after.decision.by) == (Action.APPROVE, "expiry")
    assert after.decision.feedback == "nobody decided within 60 s"


def test_rejection_ends_the_job():
    change = expired(paused(OnExpiry.REJECT), evidence=False)
    assert kinds(change) == ["review_expired", "decided", "failed"]
    assert (change.after.status, change.after.reason) == (Status.FAILED, Reason.REJECTED)


@pytest.mark.parametrize(
    ("on_expiry", "kind", "evidence"),
    [
        (OnExpiry.STAY, ReviewKind.REVIEW, True),
        (OnExpiry.APPROVE, ReviewKind.REVIEW, False),
        (OnExpiry.APPROVE, ReviewKind.UPGRADE, True),
    ],
)
def test_what_stays_open_is_told_once_and_can_still_be_decided(on_expiry, kind, evidence):
    change = expired(paused(on_expiry, kind), evidence=evidence)
    assert [dict(event.data) for event in change.events] == [{"review_id": "r1", "then": "stay"}]
    after = change.after
    assert after.status is Status.AWAITING_REVIEW
    assert after.review is not None
    assert (after.review.expired, after.review.expires_at) == (True, LATE)
    again = expiry.expire(after, LATE + 1, evidence=evidence)
    assert isinstance(again, Refusal)
    assert again.code == "not_expired"
    assert isinstance(lifecycle.decide(after, LATE + 1, decision=decision()), Change)


def test_not_before_its_time_nor_where_there_is_none():
    record = paused(OnExpiry.APPROVE)
    for early in (NOW, LATE - 1):
        answer = expiry.expire(record, early, evidence=True)
        assert isinstance(answer, Refusal)
        assert answer.code == "not_expired"
    assert isinstance(
        expiry.expire(paused(OnExpiry.REJECT, seconds=None), LATE, evidence=True), Refusal
    )
    running = expiry.expire(claimed(queued()), LATE, evidence=True)
    assert isinstance(running, Refusal)
    assert running.code == "no_open_review"
