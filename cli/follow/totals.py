"""Tally: how far a job is and what it has spent, folded from its events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from enum import IntEnum

from cli.client.events import Event


class Stage(IntEnum):
    """The way of a job, in order."""

    QUEUE = 0
    PLAN = 1
    CODE = 2
    REVIEW = 3
    VERDICT = 4
    DONE = 5


@dataclass(frozen=True, slots=True)
class Tally:
    """`doing` says in words what goes on; `cost` is None once a price was not known. `at` are the
    steps of the plan that are at work, of `steps` that it has."""

    stage: Stage = Stage.QUEUE
    doing: str = "waiting for a worker"
    reviewed: bool = False
    planned: bool = False
    steps: int = 0
    at: frozenset[int] = frozenset()
    revision: int = 1
    calls: int = 0
    runs: int = 0
    tokens: int = 0
    cost: Decimal | None = Decimal(0)


def after(tally: Tally, event: Event) -> Tally:
    """The tally with one more event."""
    data = event.data
    match event.kind:
        case "submitted":
            return replace(tally, reviewed=bool(data["review"]))
        case "started" if tally.planned:
            return replace(tally, doing="going on with the job")
        case "started":
            return replace(tally, stage=Stage.PLAN, doing="the planner breaks the task down")
        case "planned":
            doing = "the executor writes code"
            begun = replace(tally, steps=len(data["steps"]), at=frozenset())
            return replace(begun, stage=Stage.CODE, planned=True, doing=doing)
        case "step_started":
            return replace(tally, at=tally.at | {data["step"]})
        case "step_finished":
            return replace(tally, at=tally.at - {data["step"]})
        case "model_called":
            return _called(tally, event)
        case "run_finished":
            return replace(tally, runs=tally.runs + 1, doing="the executor looks at the output")
        case "answered" if not tally.reviewed:
            doing = "the critic judges the evidence"
            return replace(tally, stage=Stage.VERDICT, doing=doing)
        case _:
            return _turned(tally, event)


def _called(tally: Tally, event: Event) -> Tally:
    data = event.data
    known = tally.cost is not None and data["cost_usd"] is not None
    cost = (tally.cost or Decimal(0)) + Decimal(data["cost_usd"]) if known else None
    tokens = tally.tokens + data["input_tokens"] + data["output_tokens"]
    doing = "the executor at work" if data["role"] == "executor" else tally.doing
    return replace(tally, calls=tally.calls + 1, tokens=tokens, cost=cost, doing=doing)


def _turned(tally: Tally, event: Event) -> Tally:
    data = event.data
    match event.kind:
        case "review_opened":
            return replace(tally, stage=Stage.REVIEW, reviewed=True, doing="waiting for a person")
        case "decided" if data["action"] in ("revise", "edit"):
            return _again(tally, "back to the executor")
        case "decided" if data["action"] == "delegate":
            return replace(tally, stage=Stage.VERDICT, doing="the critic judges the evidence")
        case "decided":
            return replace(tally, stage=Stage.VERDICT, doing="finishing")
        case "critiqued" if data["verdict"] == "revise":
            return _again(tally, "back to the executor")
        case "critiqued":
            return replace(tally, stage=Stage.VERDICT, doing="summing up")
        case "begun_anew":
            begun = Tally(reviewed=tally.reviewed)
            return replace(begun, calls=tally.calls, tokens=tally.tokens, cost=tally.cost)
        case "given_back" | "lease_lost":
            return replace(tally, doing="waiting for a worker to go on")
        case "succeeded" | "failed" | "cancelled":
            return replace(tally, stage=Stage.DONE, doing=event.kind)
        case _:
            return tally


def _again(tally: Tally, doing: str) -> Tally:
    return replace(tally, stage=Stage.CODE, revision=tally.revision + 1, doing=doing)
