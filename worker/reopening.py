"""Reopening: an unapproved job, tried anew, goes on from the end of the one before it. Pure.

Its graph has come to its end: there is nothing left to run. The critic's last word is taken as one
that sends the work back, with as many revisions as the job had at first. So the executor goes on
with its messages, the files of the best result, and what the critic had against them.
"""

from __future__ import annotations

from typing import Any

from langgraph.types import StateSnapshot

from jobs.record import JobRecord

AFTER = "critic"
"""The node that the graph goes on from, as if that had just sent the work back."""


def reopens(record: JobRecord, snapshot: StateSnapshot) -> bool:
    """Whether the checkpoints are those of a parent that ended unapproved, and not reopened yet."""
    state = snapshot.values
    ended = bool(state) and not snapshot.tasks and state.get("approved_by") is None
    inherited = record.inherits is not None and ended
    return inherited and state["job"].get("reopened_for") != record.id


def reopened(record: JobRecord, state: dict[str, Any]) -> dict[str, Any]:
    """What changes in the state. The job's id in it says that it has been done: the job's own end
    must not be taken for its parent's by an attempt after a crash."""
    spec = record.spec
    fresh = spec.max_revisions if spec.repair else 1
    granted = len(state.get("critiques", ())) + fresh
    job = {**state["job"], "max_revisions": granted, "reopened_for": record.id}
    return {"job": job, "exhausted": False}
