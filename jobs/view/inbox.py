"""The order of the jobs that wait for a person. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from jobs.model.record import JobRecord
from jobs.view.verdict import Level, verdict_of_review

_RANKS = {level: rank for rank, level in enumerate(Level)}
"""Red first: the order in which `Level` declares its members."""


class Order(StrEnum):
    """The order of an inbox."""

    WAIT = "wait"
    """The review that was opened first is first."""
    RED = "red"
    """By the level of the verdict: red, grey, amber, green, then the reviews without a verdict.
    Within a level, the review that was opened first is first."""


def sort_waiting(records: Iterable[JobRecord], order: Order) -> list[JobRecord]:
    """The jobs with an open review, in this order."""
    waiting = (record for record in records if record.review is not None)
    return sorted(waiting, key=lambda record: _position(record, order))


def next_after(decided: JobRecord, waiting: Sequence[JobRecord], order: Order) -> JobRecord | None:
    """The job that follows a decided job in a sorted inbox: the next one that still waits,
    otherwise the first one, so that a person who began in the middle also sees the jobs above. None
    if no other job waits.

    `decided`: the job with its review, as it was before the decision."""
    other_jobs = [record for record in waiting if record.id != decided.id]
    position = _position(decided, order)
    following_jobs = (record for record in other_jobs if _position(record, order) > position)
    return next(following_jobs, other_jobs[0] if other_jobs else None)


def _position(record: JobRecord, order: Order) -> tuple[int, int, str]:
    """The rank of the verdict, the time at which the review was opened, and the id."""
    if (review := record.review) is None:  # another person has decided
        return (len(_RANKS) + 1, 0, record.id)
    rank = 0
    if order is Order.RED:
        verdict = verdict_of_review(review)
        rank = _RANKS[verdict.level] if verdict else len(_RANKS)
    return (rank, review.opened_at, record.id)
