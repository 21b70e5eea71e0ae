"""Evidence: whether what a review shows has been seen to work. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jobs.events import Event, current
from jobs.review import Review


def proven(review: Review, told: Sequence[Event]) -> bool:
    """Whether an approval would rest on a verification that holds. The graph says so in the payload
    (`unproven`: null, or why not); for an older release's review, a run that succeeded among
    `told`, the job's events, does."""
    if "unproven" in review.payload:
        return review.payload["unproven"] is None
    return any(_succeeded(current(told)))


def _succeeded(told: Iterable[Event]) -> Iterable[bool]:
    return (bool(event.data["succeeded"]) for event in told if event.kind == "run_finished")
