"""The point at which a graph continues: a pure decision over its last checkpoint and the record.

A retry may continue at another point than its parent would (`reopening`). If this release cannot
read the checkpoints of a job, the job is left to a worker that can, or asks a person (see
`jobs.transitions.upgrade`).

See ADR 52.
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
    """The graph starts from the beginning: there is no valid checkpoint."""


@dataclass(frozen=True, slots=True)
class Continue:
    """The graph continues after its last checkpoint."""

    graph_input: Command[Any] | None
    """The answer to the pause; None if the graph did not pause."""


@dataclass(frozen=True, slots=True)
class UnrecordedPause:
    """The graph has paused, but the pause was not recorded."""

    interrupt: Interrupt


@dataclass(frozen=True, slots=True)
class UnrecordedEnd:
    """The graph has ended, but the end was not recorded."""

    state: Mapping[str, Any]


def start_by_record(record: JobRecord) -> Begin | Continue | None:
    """The point at which an attempt continues, if the record alone shows it: at the first attempt,
    and at the first attempt after a Decision. None: an attempt crashed, so read the checkpoint."""
    if record.graph == RESTART or (record.attempts == 1 and record.inherits is None):
        return Begin()
    if record.resumes_pause and record.decision is not None:
        return Continue(_resume(record.decision))
    return None


def start_by_checkpoint(
    record: JobRecord, snapshot: StateSnapshot
) -> Begin | Continue | UnrecordedPause | UnrecordedEnd:
    """The point at which a later attempt continues. A Decision goes to the pause that it names.

    `snapshot.next` does not show whether the graph has ended: it leaves out finished tasks, so it
    is also empty if a crash came between the results of a step and the next checkpoint.
    """
    if not snapshot.values and not snapshot.tasks:
        return Begin()
    if not snapshot.tasks:
        return UnrecordedEnd(snapshot.values)
    pauses = {interrupt.id: interrupt for interrupt in snapshot.interrupts}
    if record.decision is not None and record.decision.review_id in pauses:
        return Continue(_resume(record.decision))
    if pauses:
        return UnrecordedPause(next(iter(pauses.values())))
    return Continue(None)


def _resume(decision: Decision) -> Command[Any]:
    """The command that gives a Decision to the pause that it names."""
    if decision.action is Action.ANSWER:
        answers = {"action": "answer", "by": decision.by, "answers": list(decision.answers)}
        return Command(resume={decision.review_id: answers})
    answer = {
        "action": str(decision.action),
        "feedback": decision.feedback,
        "code": decision.code,
        "files": dict(decision.files),
        "by": decision.by,
        "override": decision.override,
        "comments": [_comment_values(comment) for comment in decision.comments],
    }
    return Command(resume={decision.review_id: answer})


def _comment_values(comment: Comment) -> dict[str, Any]:
    """Plain values for the checkpoint, which must be readable without this code."""
    return {**asdict(comment), "side": str(comment.side), "excerpt": list(comment.excerpt)}


@dataclass(frozen=True, slots=True)
class Reopen:
    """The change of a parent's checkpoint before a retry continues from it."""

    change: dict[str, Any]
    """Changed values of the graph's state."""
    after: Literal["critic", "executor"]
    """The graph continues as if this node had just ended."""


def reopening(record: JobRecord, snapshot: StateSnapshot) -> Reopen | None:
    """The change for a retry; None if the job is no retry, or continues its parent's checkpoint
    without a change.

    If the parent ended unapproved, the retry gets new revisions: it continues in the executor, or,
    if the critic did not judge the work, at the verification before the critic. The same holds if
    the retry replaces the critic by a person, or a person by the critic. If the parent ended
    approved but its change was not delivered, there is no change, unless the retry asks a person.
    """
    state = snapshot.values
    if record.inherits is None or not state:
        return None
    needs_person = record.spec.review and not _is_decided(record, state)
    if not snapshot.tasks:
        if state["job"].get("reopened_for") == record.id:
            return None
        if state.get("approved_by") is None:
            return _with_new_revisions(record, state)
        return _without_approval(record, state) if needs_person else None
    node = snapshot.tasks[0].name
    if node == "summarize" and needs_person:
        return _without_approval(record, state)
    needs_critic = node == "review" and not record.spec.review
    changes_judge = (node == "critic" and needs_person) or needs_critic
    return Reopen({}, after="executor") if changes_judge else None


def _is_decided(record: JobRecord, state: Mapping[str, Any]) -> bool:
    """Whether the last decision let the work pass: a person approved it, or left it to the critic,
    which the present terms have to allow."""
    decisions = state.get("decisions")
    action = decisions[-1]["action"] if decisions else None
    critic_may = not record.spec.needs_other_persons
    return action == Action.APPROVE or (action == Action.DELEGATE and critic_may)


def _without_approval(record: JobRecord, state: dict[str, Any]) -> Reopen:
    """Remove the critic's approval, so that a person decides about the same work."""
    job = {**state["job"], "reopened_for": record.id}
    return Reopen({"job": job, "approved_by": None}, after="executor")


def _with_new_revisions(record: JobRecord, state: dict[str, Any]) -> Reopen:
    """Grant revisions. The id of the job in the state marks that they were granted: after a crash,
    the end of this job must not be mistaken for the end of its parent."""
    spec = record.spec
    critiques = state.get("critiques", ())
    count = len(critiques)
    max_revisions = count + (spec.max_revisions if spec.repair else 1)
    grant = {"max_revisions": max_revisions, "judged_before": count, "reopened_for": record.id}
    job = {**state["job"], **grant}
    is_judged = bool(critiques) and critiques[-1].get("by") == CRITIC
    return Reopen({"job": job, "exhausted": False}, after="critic" if is_judged else "executor")


@cache
def current_format() -> GraphFormat:
    """The format of the checkpoints that this release writes."""
    return GraphFormat(WRITES, version("fettle"))


def upgrade_question(record: JobRecord) -> Review | None:
    """The question to a person about a job that this release cannot resume; None if it can."""
    graph = upgrade.unreadable_format(record, READS)
    return None if graph is None else upgrade.upgrade_review(record, graph, READS, current_format())


def damage_question(record: JobRecord, location: str) -> Review:
    """The question to a person about a job with a damaged checkpoint."""
    return upgrade.damaged_review(record, location, READS, current_format())


async def no_worker_reads(store: RedisStore, job_id: str) -> bool:
    """Whether the job has waited long enough for a worker that can resume it."""
    loaded = await store.load(job_id)
    return loaded is not None and upgrade.is_abandoned(loaded.record, await store.workers())
