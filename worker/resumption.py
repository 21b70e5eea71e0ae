"""Where a graph goes on: a pure decision over its last checkpoint and the job's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.types import Command, Interrupt, StateSnapshot

from jobs.graph_format import ANEW
from jobs.record import JobRecord
from jobs.review import Action, Decision


@dataclass(frozen=True, slots=True)
class Begin:
    """There is no checkpoint yet, or none that counts."""


@dataclass(frozen=True, slots=True)
class GoOn:
    """Feed the graph: a Decision, or None to continue behind the last checkpoint."""

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
    """How an attempt continues where the record alone tells: where it begins, and where it is the
    first behind a Decision. None: only the checkpoint knows, an attempt ended without a word."""
    if record.graph == ANEW or (record.attempts == 1 and record.inherits is None):
        return Begin()
    if record.resumes_pause and record.decision is not None:
        return GoOn(_answered(record.decision))
    return None


def resumption(record: JobRecord, snapshot: StateSnapshot) -> Begin | GoOn | Asked | Ended:
    """How an attempt after the first continues. A Decision goes to the pause that it names.

    `snapshot.next` does not tell whether the graph has ended: it leaves out what has finished, so
    that it is empty, too, where a crash came between a step's results and the next checkpoint.
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
    """A Decision as the gate wants it, for the pause that it names and no other."""
    if decision.action is Action.ANSWER:
        said = {"action": "answer", "by": decision.by, "answers": list(decision.answers)}
        return Command(resume={decision.review_id: said})
    answer = {
        "action": str(decision.action),
        "feedback": decision.feedback,
        "code": decision.code,
        "by": decision.by,
        "override": decision.override,
    }
    return Command(resume={decision.review_id: answer})
