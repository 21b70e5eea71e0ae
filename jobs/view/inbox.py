"""The order of the reviews that wait for a person. Pure.

A `WaitingReview` has all that the order needs. The store has it for each waiting job, so that an
inbox is sorted without the records of its jobs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from jobs.model.codec import dump
from jobs.model.record import JobRecord
from jobs.view.verdict import Level, verdict_of_review

_RANKS = {level: rank for rank, level in enumerate(Level)}
"""Red first: the order in which `Level` declares its members."""


@dataclass(frozen=True, slots=True)
class WaitingReview:
    """An open review as an entry of an inbox. The defaults are those of a job that an older release
    paused, or that does not wait any more: such an entry is first."""

    job_id: str
    opened_at: int = 0
    """The time in ms."""
    rank: int = 0
    """The place of the verdict: red, grey, amber, green, then the reviews without a verdict."""
    assignee: str = ""
    """The person who has claimed the review. '': no person."""

    @classmethod
    def of(cls, record: JobRecord) -> WaitingReview:
        """The entry of a job."""
        if (review := record.review) is None:
            return cls(record.id)
        verdict = verdict_of_review(review)
        rank = _RANKS[verdict.level] if verdict else len(_RANKS)
        return cls(record.id, review.opened_at, rank, record.assignee)

    @classmethod
    def read(cls, job_id: str, stored: bytes | None) -> WaitingReview:
        """The entry in its stored form."""
        return cls(job_id, *json.loads(stored or "[]")[:3])

    def stored(self) -> str:
        """The stored form, without the job's id. A newer release may append values."""
        return dump([self.opened_at, self.rank, self.assignee])


class Order(StrEnum):
    """The order of an inbox."""

    WAIT = "wait"
    """The review that was opened first is first."""
    RED = "red"
    """By the rank of the verdict. Within a rank, the review that was opened first is first."""

    def position(self, entry: WaitingReview) -> tuple[int, int, str]:
        """The sort key of an entry."""
        return (entry.rank if self is Order.RED else 0, entry.opened_at, entry.job_id)


def next_after(
    decided: WaitingReview, waiting: Sequence[WaitingReview], order: Order
) -> WaitingReview | None:
    """The review that follows a decided review in a sorted inbox: the next one that still waits,
    otherwise the first one, so that a person who began in the middle also sees the jobs above. None
    if no other review waits.

    `decided`: the review as it was before the decision."""
    remaining = [entry for entry in waiting if entry.job_id != decided.job_id]
    position = order.position(decided)
    following = (entry for entry in remaining if order.position(entry) > position)
    return next(following, remaining[0] if remaining else None)
