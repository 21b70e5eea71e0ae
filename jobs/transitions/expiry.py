"""Expiry: a review without a decision in time. Pure.

Events first announce the review again (a reminder, then an escalation). Then `on_expiry` of the
job's spec applies.
"""

from __future__ import annotations

from dataclasses import replace

from jobs.model.events import NewEvent
from jobs.model.record import JobRecord
from jobs.model.review import EXPIRY, Action, Decision, Review, ReviewKind
from jobs.model.spec import JobSpec, OnExpiry
from jobs.transitions.change import Change, Refusal, next_version
from jobs.transitions.review_rules import needs_other_persons
from jobs.transitions.reviews import decide


def schedule_review(review: Review, spec: JobSpec, now: int) -> Review:
    """A review that is opened now, with the times of its announcements and its expiry."""

    def after(seconds: int | None) -> int | None:
        return None if seconds is None else now + seconds * 1000

    has_questions = review.kind is ReviewKind.QUESTIONS
    return replace(
        review,
        opened_at=now,
        expires_at=after(
            spec.questions_expire_seconds if has_questions else spec.review_expires_seconds
        ),
        remind_at=after(spec.review_remind_seconds),
        escalate_at=after(spec.review_escalate_seconds),
    )


def sweep_review(record: JobRecord, now: int) -> Change | Refusal:
    """The sweeper's step for a review that is due: expiry, else escalation, else a reminder."""
    review = record.review
    if review is None:
        return Refusal("no_open_review", f"the job is {record.status}", record.status)
    if review.look_at is None or review.look_at > now:
        return Refusal("not_expired", "the review is not due", record.status)
    if not review.expired and review.expires_at is not None and review.expires_at <= now:
        return expire(record, now)
    if review.escalate_at is not None and review.escalate_at <= now:
        event, silent = "review_escalated", replace(review, escalate_at=None, remind_at=None)
    else:
        event, silent = "review_reminded", replace(review, remind_at=None)
    data = {"review_id": review.id, "waited_seconds": (now - review.opened_at) // 1000}
    return Change(
        next_version(record, now, review=silent),
        (NewEvent(f"{event}:{record.epoch}", event, data),),
    )


def expire(record: JobRecord, now: int) -> Change | Refusal:
    """Apply `on_expiry` by a Decision (J10).

    Work that no run has shown to work is not approved, and neither is work that needs the approval
    of other persons. If the review stays open, one event says that it has expired, and a person can
    still decide.
    """
    review = record.review
    if review is None:
        return Refusal("no_open_review", f"the job is {record.status}", record.status)
    if review.expired or review.expires_at is None or review.expires_at > now:
        return Refusal("not_expired", "the review is not due", record.status)
    if review.kind is ReviewKind.QUESTIONS:  # no person has answered: the defaults count
        data = {"review_id": review.id, "then": Action.ANSWER}
        event = NewEvent(f"review_expired:{record.epoch}", "review_expired", data)
        return _decide(record, now, Decision(review.id, Action.ANSWER, EXPIRY), event)
    consequence = record.spec.on_expiry
    is_work = review.kind is ReviewKind.REVIEW
    may_approve = is_work and review.shown_by_run and not needs_other_persons(record, review)
    if consequence is OnExpiry.APPROVE and not may_approve:
        consequence = OnExpiry.STAY
    data = {"review_id": review.id, "then": consequence}
    event = NewEvent(f"review_expired:{record.epoch}", "review_expired", data)
    if consequence is OnExpiry.STAY:
        open_review = replace(
            review,
            expired=True,  # announcements that are due now are obsolete
            remind_at=_if_future(review.remind_at, now),
            escalate_at=_if_future(review.escalate_at, now),
        )
        return Change(next_version(record, now, review=open_review), (event,))
    feedback = f"no person decided within {record.spec.review_expires_seconds} s"
    return _decide(record, now, Decision(review.id, Action(consequence), EXPIRY, feedback), event)


def _if_future(at: int | None, now: int) -> int | None:
    return None if at is None or at <= now else at


def _decide(record: JobRecord, now: int, decision: Decision, event: NewEvent) -> Change | Refusal:
    decided = decide(record, now, decision=decision)
    if isinstance(decided, Refusal):
        return decided
    return replace(decided, events=(event, *decided.events))
