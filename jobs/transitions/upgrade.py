"""Upgrade: the case that no running worker can read a job's checkpoints. Pure.

In a fleet of several releases, such a job waits for a worker that can read them. If no such worker
comes for some time, a review of kind `upgrade` asks a person. Its Decision is not for the graph, so
an earlier Decision that waits for the graph stays on record.

See ADR 12.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from jobs.model.events import NewEvent
from jobs.model.record import RESTART, GraphFormat, JobRecord
from jobs.model.review import Action, Decision, Review, ReviewKind

HINTS_BEFORE_REVIEW = 5
"""The unanswered hints before a person is asked: some 15 s. A worker that is being replaced comes
back in this time, so that a rolling restart does not lead to a review."""
EXTRA_HINTS_AFTER_CRASH = 2
"""The first hints after a crash have a quarter of the usual interval."""

CHOICES: Mapping[Action, str] = {
    Action.APPROVE: "restart from the task; what was paid stays on the job's bill",
    Action.DELEGATE: "leave it to a worker that reads it: start one first",
    Action.REJECT: "end the job",
}
"""The possible decisions, and their effects."""


def unreadable_format(record: JobRecord, readable: Collection[int]) -> GraphFormat | None:
    """The format of the job's checkpoints if it is not one of the `readable` formats."""
    stored_format = record.checkpointed
    return None if stored_format is None or stored_format.number in readable else stored_format


def is_abandoned(record: JobRecord, workers: Iterable[Mapping[str, Any]]) -> bool:
    """Whether no worker has taken the job for some time, and no announced worker can read its
    checkpoints."""
    enough = HINTS_BEFORE_REVIEW + (EXTRA_HINTS_AFTER_CRASH if record.crashes else 0)
    if record.hints < enough:
        return False
    return all(abandoned_format(record, worker) is not None for worker in workers)


def abandoned_format(record: JobRecord, worker: Mapping[str, Any]) -> GraphFormat | None:
    """The format of the job's checkpoints if this worker, as it announced itself, cannot read
    it."""
    readable: Collection[int] = worker.get("graph", {}).get("reads", ())
    return unreadable_format(record, readable)


def upgrade_review(
    record: JobRecord, stored: GraphFormat, readable: Collection[int], written: GraphFormat
) -> Review:
    """The review of a job with checkpoints of the format `stored`. This worker reads the formats
    `readable`, and writes the format `written`.

    payload: {reason, found: {format, release}, worker: {format, release, reads: [int]}, choices:
    {action: effect}}
    """
    writer = f", by Fettle {stored.release}" if stored.release else ""
    reader = f"Fettle {stored.release}" if stored.release else f"a release that reads {stored}"
    reason = (
        f"The job's checkpoint has graph format {stored.number}{writer}. Fettle {written.release} "
        f"reads {_list_formats(readable)}, and no running worker reads {stored.number}. "
        f"Restart the job from its task (approve), start a worker of {reader} and let it continue "
        "(delegate), or end the job (reject)."
    )
    payload = {
        "reason": reason,
        "found": {"format": stored.number, "release": stored.release},
        "worker": {
            "format": written.number,
            "release": written.release,
            "reads": sorted(readable),
        },
        "choices": {str(action): effect for action, effect in CHOICES.items()},
    }
    return Review(f"upgrade-{record.epoch}", ReviewKind.UPGRADE, payload)


def damaged_review(
    record: JobRecord, location: str, readable: Collection[int], written: GraphFormat
) -> Review:
    """The review of a job with a damaged checkpoint or journal entry, or with a value of a type
    that this release does not read. `location` names the checkpoint or the entry. All state is kept
    until the decision. The payload is the payload of `upgrade_review`, with `place`.
    """
    review = upgrade_review(record, record.checkpointed or written, readable, written)
    reason = (
        f"The job's stored state cannot be read ({location}). Restart the job from its task "
        "(approve), repair the state or start a worker that reads it, and let it continue "
        "(delegate), or end the job (reject)."
    )
    return replace(review, payload={**review.payload, "reason": reason, "place": location})


def apply_decision(record: JobRecord, decision: Decision) -> JobRecord:
    """The record after a decision on its upgrade."""
    if decision.action is Action.APPROVE:
        restarted = replace(record, review=None, decision=None, inherits=None)
        return replace(restarted, graph=RESTART, ran_ms=0, retries=0)
    return replace(record, review=None)


def decision_events(record: JobRecord, decision: Decision) -> tuple[NewEvent, ...]:
    """The events of the decision, in addition to `decided`."""
    if decision.action is not Action.APPROVE:
        return ()
    discarded = record.checkpointed
    data = {"by": decision.by, "format": discarded.number if discarded else None}
    return (NewEvent(f"begun_anew:{record.epoch}", "begun_anew", data),)


def _list_formats(numbers: Collection[int]) -> str:
    *earlier, last = map(str, sorted(numbers))
    return f"formats {', '.join(earlier)} and {last}" if earlier else f"format {last}"
