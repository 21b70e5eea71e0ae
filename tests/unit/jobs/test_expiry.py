"""The outcome of a review that expired without a decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from support.jobs.job_examples import NOW, VERIFIED, claimed, decision, queued, review

from jobs.model.record import JobRecord, Reason, Status
from jobs.model.review import Action, ReviewKind
from jobs.model.spec import OnExpiry
from jobs.transitions import expiry, lifecycle
from jobs.transitions.lifecycle import Change, Refusal

LATE = NOW + 60_000
SHOWN = {**VERIFIED, "holds": True, "problem": None}
"""A verification that holds, by a run."""


def paused(
    on_expiry: OnExpiry,
    kind: ReviewKind = ReviewKind.REVIEW,
    seconds: int | None = 60,
    unproven: str | None = None,
    verification: Mapping[str, object] | None = SHOWN,
) -> JobRecord:
    """A job with a review that was opened at NOW."""
    record = claimed(queued(review_expires_seconds=seconds, on_expiry=on_expiry))
    opened = replace(review(unproven=unproven), kind=kind)
    opened = replace(opened, payload={**opened.payload, "verification": verification})
    change = lifecycle.pause(record, NOW, review=opened)
    assert isinstance(change, Change)
    return change.after


def expired(record: JobRecord) -> Change:
    change = expiry.expire(record, LATE)
    assert isinstance(change, Change)
    return change


def kinds(change: Change) -> list[str]:
    return [event.kind for event in change.events]


@pytest.mark.invariant("J10")
def test_approval_at_expiry_resumes_the_job_and_names_no_person():
    change = expired(paused(OnExpiry.APPROVE))
    assert kinds(change) == ["review_expired", "decided"]
    after = change.after
    assert (after.status, after.review, after.hints) == (Status.QUEUED, None, 1)
    assert after.decision is not None
    assert (after.decision.action, after.decision.by) == (Action.APPROVE, "expiry")
    assert after.decision.feedback == "no person decided within 60 s"


@pytest.mark.parametrize(
    ("verification", "then"),
    [
        (SHOWN, "approve"),
        ({**SHOWN, "source": "checks", "run": None}, "approve"),
        ({**SHOWN, "source": "answer", "run": None}, "stay"),
        ({**SHOWN, "holds": False, "problem": "nothing to run: documents only"}, "stay"),
        (None, "stay"),
    ],
)
def test_only_work_that_has_been_run_is_approved_at_expiry(verification, then):
    """This work needs no override: the job has `evidence: none`, or asks a question."""
    change = expired(paused(OnExpiry.APPROVE, verification=verification))
    assert change.events[0].data["then"] == then


def test_rejection_at_expiry_ends_the_job():
    change = expired(paused(OnExpiry.REJECT))
    assert kinds(change) == ["review_expired", "decided", "failed"]
    assert (change.after.status, change.after.reason) == (Status.FAILED, Reason.REJECTED)


@pytest.mark.parametrize(
    ("on_expiry", "kind", "unproven"),
    [
        (OnExpiry.STAY, ReviewKind.REVIEW, None),
        (OnExpiry.APPROVE, ReviewKind.REVIEW, "nothing has run"),
        (OnExpiry.APPROVE, ReviewKind.UPGRADE, None),
    ],
)
def test_a_review_that_stays_open_expires_once_and_can_still_be_decided(on_expiry, kind, unproven):
    change = expired(paused(on_expiry, kind, unproven=unproven))
    assert [dict(event.data) for event in change.events] == [{"review_id": "r1", "then": "stay"}]
    after = change.after
    assert after.status is Status.AWAITING_REVIEW
    assert after.review is not None
    assert (after.review.expired, after.review.expires_at) == (True, LATE)
    again = expiry.expire(after, LATE + 1)
    assert isinstance(again, Refusal)
    assert again.code == "not_expired"
    late = decision(override=unproven is not None, feedback="It is a text.")
    assert isinstance(lifecycle.decide(after, LATE + 1, decision=late), Change)


def test_a_review_does_not_expire_early_or_without_an_expiry():
    record = paused(OnExpiry.APPROVE)
    for early in (NOW, LATE - 1):
        answer = expiry.expire(record, early)
        assert isinstance(answer, Refusal)
        assert answer.code == "not_expired"
    assert isinstance(expiry.expire(paused(OnExpiry.REJECT, seconds=None), LATE), Refusal)
    running = expiry.expire(claimed(queued()), LATE)
    assert isinstance(running, Refusal)
    assert running.code == "no_open_review"


def policed(**seconds: int) -> JobRecord:
    """A job with a review that was opened at NOW and is due for a reminder."""
    spec_fields = {f"review_{name}_seconds": value for name, value in seconds.items()}
    record = claimed(queued(on_expiry=OnExpiry.STAY, **spec_fields))
    change = lifecycle.pause(record, NOW, review=review())
    assert isinstance(change, Change)
    return change.after


def sweep_after(record: JobRecord, seconds: int) -> Change:
    change = expiry.sweep_review(record, NOW + seconds * 1000)
    assert isinstance(change, Change)
    return change


def test_a_review_has_one_reminder_one_escalation_and_one_expiry():
    record = policed(remind=10, escalate=20, expires=30)
    for seconds, event_kind in ((10, "review_reminded"), (21, "review_escalated")):
        assert record.review is not None
        assert isinstance(expiry.sweep_review(record, NOW + seconds * 1000 - 1_001), Refusal)
        change = sweep_after(record, seconds)
        assert kinds(change) == [event_kind]
        assert change.events[0].data == {"review_id": "r1", "waited_seconds": seconds}
        record = change.after
    change = sweep_after(record, 30)
    assert kinds(change) == ["review_expired"]
    assert change.after.review is not None
    assert change.after.review.look_at is None


def test_an_expiry_cannot_replace_one_of_two_approvals():
    record = claimed(queued(approvals=2, review_expires_seconds=60, on_expiry=OnExpiry.APPROVE))
    opened = replace(review(), payload={**review().payload, "verification": SHOWN})
    change = lifecycle.pause(record, NOW, review=opened)
    assert isinstance(change, Change)
    assert [event.data["then"] for event in expired(change.after).events] == ["stay"]
