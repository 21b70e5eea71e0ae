"""Expiry: a review that nobody has answered in time. Pure, like lifecycle."""

from __future__ import annotations

from dataclasses import replace

from jobs import lifecycle
from jobs.deciding import needed
from jobs.events import NewEvent
from jobs.lifecycle import Change, Refusal
from jobs.record import JobRecord
from jobs.review import EXPIRY, Action, Decision, ReviewKind
from jobs.spec import OnExpiry


def expire(record: JobRecord, now: int, *, evidence: bool) -> Change | Refusal:
    """What the spec says then counts, by a Decision like any other (J10).

    `evidence`: a run has succeeded. Without it nothing is approved, since no person vouches for it;
    nor is what needs two people's approval, since a clock is none.
    What stays open is told to have expired, once, and can still be decided.
    """
    review = record.review
    if review is None:
        return Refusal("no_open_review", f"the job is {record.status}", record.status)
    if review.look_at is None or review.look_at > now:
        return Refusal("not_expired", "the review may wait longer", record.status)
    if review.kind is ReviewKind.QUESTIONS:  # nobody has answered: the defaults count
        data = {"review_id": review.id, "then": Action.ANSWER}
        told = NewEvent(f"review_expired:{record.epoch}", "review_expired", data)
        return _decided(record, now, Decision(review.id, Action.ANSWER, EXPIRY), told)
    then = record.spec.on_expiry
    vouched = evidence and review.kind is ReviewKind.REVIEW and needed(record, review) == 1
    if then is OnExpiry.APPROVE and not vouched:
        then = OnExpiry.STAY
    data = {"review_id": review.id, "then": then}
    told = NewEvent(f"review_expired:{record.epoch}", "review_expired", data)
    if then is OnExpiry.STAY:
        stays = replace(review, expired=True)
        after = replace(record, review=stays, version=record.version + 1, updated_at=now)
        return Change(after, (told,))
    words = f"nobody decided within {record.spec.review_expires_seconds} s"
    return _decided(record, now, Decision(review.id, Action(then), EXPIRY, words), told)


def _decided(record: JobRecord, now: int, decision: Decision, told: NewEvent) -> Change | Refusal:
    decided = lifecycle.decide(record, now, decision=decision)
    if isinstance(decided, Refusal):
        return decided
    return replace(decided, events=(told, *decided.events))
