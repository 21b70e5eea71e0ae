"""Where a graph goes on: a pure decision over its last checkpoint and the job's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langgraph.types import Command, Interrupt, StateSnapshot

from jobs.record import JobRecord
from jobs.review import Decision


@dataclass(frozen=True, slots=True)
class Begin:
    """There is no checkpoint yet."""


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


def resumption(record: JobRecord, snapshot: StateSnapshot) -> Begin | GoOn | Asked | Ended:
    """How an attempt after the first continues. A Decision goes to the pause that it names."""
    if not snapshot.values and not snapshot.next:
        return Begin()
    if not snapshot.next:
        return Ended(snapshot.values)
    asked = {interrupt.id: interrupt for interrupt in snapshot.interrupts}
    if record.decision is not None and record.decision.review_id in asked:
        return GoOn(Command(resume={record.decision.review_id: answer(record.decision)}))
    if asked:
        return Asked(next(iter(asked.values())))
    return GoOn(None)


def answer(decision: Decision) -> dict[str, Any]:
    """A Decision as the review gate wants it."""
    return {
        "action": str(decision.action),
        "feedback": decision.feedback,
        "code": decision.code,
        "by": decision.by,
        "override": decision.override,
    }
