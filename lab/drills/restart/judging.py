"""The expected state of a job before, between and after a restart of all programs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fettle.events import ReceivedEvent

CALLS = 3
"""Model calls of the recorded job: plan, code, answer."""
ONCE = ("submitted", "planned", "run_finished", "review_opened", "decided", "succeeded")
"""Events that a job has once, regardless of the number of workers that took it."""


@dataclass(frozen=True, slots=True)
class JobState:
    """A job as the API showed it at one time."""

    id: str
    status: str
    attempts: int
    calls: int
    tokens: int
    runs: tuple[str, ...]
    review: str | None
    approved_by: str | None

    @classmethod
    def of(cls, job: Mapping[str, Any]) -> JobState:
        """The state in an answer to GET /jobs/{id}."""
        total = job["cost"]["total"]
        return cls(
            id=job["id"],
            status=job["status"],
            attempts=job["attempts"],
            calls=total["calls"],
            tokens=total["input_tokens"] + total["output_tokens"],
            runs=tuple(run["id"] for run in job["runs"]),
            review=job["review"]["id"] if job["review"] else None,
            approved_by=job["result"]["approved_by"] if job["result"] else None,
        )


def paused(before: JobState) -> Iterator[str]:
    """The faults of a job that should wait for a person."""
    if before.status != "awaiting_review" or before.review is None:
        yield f"it is {before.status} and does not wait for a person"
    if (before.calls, len(before.runs)) != (CALLS, 1):
        yield f"it took {before.calls} model calls and {len(before.runs)} runs to get here"


def lost_facts(before: JobState, between: JobState) -> Iterator[str]:
    """The changes through a restart without a worker. There must be none."""
    if between != before:
        yield f"the restart changed it: {before} became {between}"


def finished(before: JobState, after: JobState, events: Sequence[ReceivedEvent]) -> Iterator[str]:
    """The faults of a job that was approved after the restart."""
    if after.status != "succeeded":
        yield f"it ended as {after.status}"
    if after.approved_by is None:
        yield "nobody is named as the one who approved it"
    if (after.calls, after.tokens, after.runs) != (before.calls, before.tokens, before.runs):
        yield f"calls were repeated: {before.calls} before, {after.calls} after"
    counts = Counter(event.kind for event in events)
    for kind in ONCE:
        if counts[kind] != 1:
            yield f"{kind} came {counts[kind]} times"
    if counts["model_called"] != CALLS:
        yield f"model_called came {counts['model_called']} times"
    if [event.seq for event in events] != list(range(1, len(events) + 1)):
        yield "its events have gaps"
    if len(workers(events)) != 2:
        yield f"it was worked on by {', '.join(workers(events)) or 'nobody'}"


def workers(events: Sequence[ReceivedEvent]) -> list[str]:
    """The different workers that took the job, in order."""
    return list(dict.fromkeys(e.data["worker"] for e in events if e.kind == "started"))
