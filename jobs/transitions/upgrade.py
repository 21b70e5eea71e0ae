"""Upgrade: a job whose checkpoints no running worker can read. Pure.

In a mixed fleet such a job waits for a worker that can. Where there has been none for a while, a
person is asked by a review of kind `upgrade`. Its Decision is not for the graph, so an earlier one
that the graph has not had yet stays on record.

Why: docs/decisions/0012-graph-format.md
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from jobs.model.events import NewEvent
from jobs.model.record import RESTART, GraphFormat, JobRecord
from jobs.model.review import Action, Decision, Review, ReviewKind

HINTS_BEFORE_ASKING = 5
"""Unanswered hints before a person is asked: some 15 s, in which a worker that is being replaced
comes back. A rolling restart must not lead to a review."""
MORE_AFTER_CRASH = 2
"""A crashed job's first hints are a quarter as far apart."""

TAKES: Mapping[Action, str] = {
    Action.APPROVE: "restart from the task; what was paid stays on the job's bill",
    Action.DELEGATE: "leave it to a worker that reads it: start one first",
    Action.REJECT: "end the job",
}
"""What can be decided, and what it does."""


def unread(record: JobRecord, reads: Collection[int]) -> GraphFormat | None:
    """The format of the job's checkpoints, where a worker that reads `reads` cannot go on."""
    written = record.checkpointed
    return None if written is None or written.number in reads else written


def abandoned(record: JobRecord, workers: Iterable[Mapping[str, Any]]) -> bool:
    """Whether nobody in the fleet can go on, and nobody has come. `workers` as they announced."""
    enough = HINTS_BEFORE_ASKING + (MORE_AFTER_CRASH if record.crashes else 0)
    if record.hints < enough:
        return False
    return all(unread(record, _reads(facts)) is not None for facts in workers)


def abandoned_format(record: JobRecord, worker: Mapping[str, Any]) -> GraphFormat | None:
    """The format of the job's checkpoints, if this worker cannot read it."""
    return unread(record, _reads(worker))


def _reads(facts: Mapping[str, Any]) -> Collection[int]:
    reads: Collection[int] = facts.get("graph", {}).get("reads", ())
    return reads


def question(
    record: JobRecord, found: GraphFormat, reads: Collection[int], current: GraphFormat
) -> Review:
    """The review: `found` is the format of the checkpoints, `current` the one written here.

    payload: {reason, found: {format, release}, worker: {format, release, reads: [int]},
    choices: {action: what it does}}
    """
    by = f", by Fettle {found.release}" if found.release else ""
    able = f"a worker of Fettle {found.release}" if found.release else "a worker that reads it"
    reason = (
        f"The job's checkpoint is in graph format {found.number}{by}. Fettle {current.release} "
        f"reads {_listed(reads)}, and no worker that is up reads {found.number}. "
        f"Restart it from its task (approve), run {able} and leave it to that (delegate), or end "
        "it (reject)."
    )
    payload = {
        "reason": reason,
        "found": {"format": found.number, "release": found.release},
        "worker": {"format": current.number, "release": current.release, "reads": sorted(reads)},
        "choices": {str(action): does for action, does in TAKES.items()},
    }
    return Review(f"upgrade-{record.epoch}", ReviewKind.UPGRADE, payload)


def damaged(record: JobRecord, place: str, reads: Collection[int], current: GraphFormat) -> Review:
    """The review of a job with a known format, but with a checkpoint or journal entry, at `place`,
    that is damaged or holds a type that this release does not read. Nothing is removed before the
    decision. The payload is that of `question`, and `place`."""
    found = record.checkpointed or current
    asked = question(record, found, reads, current)
    reason = (
        f"The job's stored state cannot be read ({place}). Restart it from its task (approve), "
        "have it repaired or run a worker that knows it, and leave it to that (delegate), or end "
        "it (reject)."
    )
    return replace(asked, payload={**asked.payload, "reason": reason, "place": place})


def settled(record: JobRecord, decision: Decision) -> JobRecord:
    """The record after a decision on its upgrade."""
    if decision.action is Action.APPROVE:
        kept = replace(record, review=None, decision=None, inherits=None)
        return replace(kept, graph=RESTART, ran_ms=0, retries=0)
    return replace(record, review=None)


def events_of(record: JobRecord, decision: Decision) -> tuple[NewEvent, ...]:
    """The events of the decision, besides `decided`."""
    if decision.action is not Action.APPROVE:
        return ()
    left = record.checkpointed
    data = {"by": decision.by, "format": left.number if left else None}
    return (NewEvent(f"begun_anew:{record.epoch}", "begun_anew", data),)


def _listed(numbers: Collection[int]) -> str:
    *others, last = map(str, sorted(numbers))
    return f"formats {', '.join(others)} and {last}" if others else f"format {last}"
