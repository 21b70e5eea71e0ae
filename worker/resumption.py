"""Where a graph continues: a pure decision over its last checkpoint and the job's record.

A retry may continue elsewhere than its parent would have (`reopening`). A job whose checkpoints
this release cannot read is left to a worker that can, or asks a person (see
`jobs.transitions.upgrade`).

Why: docs/decisions/0052-a-retry-continues.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

from langgraph.types import Command, Interrupt, StateSnapshot

from agents.evidence.verdict import CRITIC
from agents.graph.checkpoint_format import READS, WRITES
from jobs.model.record import RESTART, GraphFormat, JobRecord
from jobs.model.review import Action, Comment, Decision, Review
from jobs.store.redis_store import RedisStore
from jobs.transitions import upgrade


@dataclass(frozen=True, slots=True)
class Begin:
    """There is no checkpoint yet, or none that counts."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """Feed the graph: a Decision, or None to continue after the last checkpoint."""

    feed: Command[Any] | None


@dataclass(frozen=True, slots=True)
class Asked:
    """The graph had paused already, but the pause was not put on record."""

    interrupt: Interrupt


@dataclass(frozen=True, slots=True)
class Ended:
    """The graph had ended already, but the end was not put on record."""

    state: Mapping[str, Any]


def foreseen(record: JobRecord) -> Begin | GoOn | None:
    """How an attempt continues where the record alone shows it: at the start, and as the first
    after a Decision. None: the checkpoint must be read, since an attempt crashed."""
    if record.graph == RESTART or (record.attempts == 1 and record.inherits is None):
        return Begin()
    if record.resumes_pause and record.decision is not None:
        return GoOn(_answered(record.decision))
    return None


def resumption(record: JobRecord, snapshot: StateSnapshot) -> Begin | GoOn | Asked | Ended:
    """How an attempt after the first continues. A Decision goes to the pause that it names.

    `snapshot.next` does not show whether the graph has ended: it leaves out finished tasks, so that
    it is also empty where a crash came between a step's results and the next checkpoint.
    """
    if not snapshot.values and not snapshot.tasks:
        return Begin()
    if not snapshot.tasks:
        return Ended(snapshot.values)
    asked = {interrupt.id: interrupt for interrupt in snapshot.interrupts}
    if record.decision is not None and record.decision.review_id in asked:
        return GoOn(_answered(record.decision))
    if asked:
        return Asked(next(iter(asked.values())))
    return GoOn(None)


def _answered(decision: Decision) -> Command[Any]:
    """A Decision as the review gate takes it, for the pause that it names alone."""
    if decision.action is Action.ANSWER:
        said = {"action": "answer", "by": decision.by, "answers": list(decision.answers)}
        return Command(resume={decision.review_id: said})
    answer = {
        "action": str(decision.action),
        "feedback": decision.feedback,
        "code": decision.code,
        "by": decision.by,
        "override": decision.override,
        "comments": [_plain(comment) for comment in decision.comments],
    }
    return Command(resume={decision.review_id: answer})


def _plain(comment: Comment) -> dict[str, Any]:
    """As a checkpoint keeps it: readable without this code."""
    return {**asdict(comment), "side": str(comment.side), "excerpt": list(comment.excerpt)}


@dataclass(frozen=True, slots=True)
class Reopen:
    """How a retry goes on where its parent's checkpoints would not lead it: with this change of the
    state, as if the node `after` had just ended."""

    change: dict[str, Any]
    after: Literal["critic", "executor"]


def reopening(record: JobRecord, snapshot: StateSnapshot) -> Reopen | None:
    """None for a job that is no retry, or whose parent's checkpoints are right as they are.

    A parent that ended unapproved gets fresh revisions: in the executor, or, where the critic had
    not judged the work, before the verification, which is followed by the critic. So does a retry
    that asks for a person in place of the critic, or the other way round. One that ended approved,
    whose change was not delivered, stays as it is, unless the retry asks for a person.
    """
    state = snapshot.values
    if record.inherits is None or not state:
        return None
    if not snapshot.tasks:
        if state["job"].get("reopened_for") == record.id:
            return None
        if state.get("approved_by") is None:
            return _fresh(record, state)
        unasked = record.spec.review and not state.get("decisions")
        return _asked(record, state) if unasked else None
    at = snapshot.tasks[0].name
    unasked = at == "critic" and record.spec.review and not state.get("decisions")
    unwanted = at == "review" and not record.spec.review
    return Reopen({}, after="executor") if unasked or unwanted else None


def _asked(record: JobRecord, state: dict[str, Any]) -> Reopen:
    """The critic's approval does not count any more: a person is asked about the same work."""
    job = {**state["job"], "reopened_for": record.id}
    return Reopen({"job": job, "approved_by": None}, after="executor")


def _fresh(record: JobRecord, state: dict[str, Any]) -> Reopen:
    """The job's id in the state marks that this was done: after a crash, the job's own end must not
    be taken for its parent's."""
    spec = record.spec
    critiques = state.get("critiques", ())
    before = len(critiques)
    granted = before + (spec.max_revisions if spec.repair else 1)
    fresh = {"max_revisions": granted, "judged_before": before, "reopened_for": record.id}
    job = {**state["job"], **fresh}
    judged = bool(critiques) and critiques[-1].get("by") == CRITIC
    return Reopen({"job": job, "exhausted": False}, after="critic" if judged else "executor")


@cache
def ours() -> GraphFormat:
    """The format that attempts of this release leave behind."""
    return GraphFormat(WRITES, version("fettle"))


def question(record: JobRecord) -> Review | None:
    """What to ask a person about a job that cannot be resumed here; None where it can be."""
    found = upgrade.unreadable_format(record, READS)
    return None if found is None else upgrade.upgrade_review(record, found, READS, ours())


def damaged(record: JobRecord, place: str) -> Review:
    """What to ask a person about a job whose checkpoint cannot be decoded."""
    return upgrade.damaged_review(record, place, READS, ours())


async def left_to_nobody(store: RedisStore, job_id: str) -> bool:
    """Whether a job that this worker cannot resume has waited long enough for one that can."""
    loaded = await store.load(job_id)
    return loaded is not None and upgrade.is_abandoned(loaded.record, await store.workers())
