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
class Totals:
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


def after(totals: Totals, event: Event) -> Totals:
    """The tally with one more event."""
    data = event.data
    match event.kind:
        case "submitted":
            return replace(totals, reviewed=bool(data["review"]))
        case "started" if totals.planned:
            return replace(totals, doing="going on with the job")
        case "started":
            return replace(totals, stage=Stage.PLAN, doing="the planner breaks the task down")
        case "planned":
            doing = "the executor writes code"
            begun = replace(totals, steps=len(data["steps"]), at=frozenset())
            return replace(begun, stage=Stage.CODE, planned=True, doing=doing)
        case "step_started":
            return replace(totals, at=totals.at | {data["step"]})
        case "step_finished":
            return replace(totals, at=totals.at - {data["step"]})
        case "model_called":
            return _called(totals, event)
        case "run_finished":
            return replace(totals, runs=totals.runs + 1, doing="the executor looks at the output")
        case "answered" if not totals.reviewed:
            doing = "the critic judges the evidence"
            return replace(totals, stage=Stage.VERDICT, doing=doing)
        case _:
            return _turned(totals, event)


def _called(totals: Totals, event: Event) -> Totals:
    data = event.data
    known = totals.cost is not None and data["cost_usd"] is not None
    cost = (totals.cost or Decimal(0)) + Decimal(data["cost_usd"]) if known else None
    tokens = totals.tokens + data["input_tokens"] + data["output_tokens"]
    doing = "the executor at work" if data["role"] == "executor" else totals.doing
    return replace(totals, calls=totals.calls + 1, tokens=tokens, cost=cost, doing=doing)


def _turned(totals: Totals, event: Event) -> Totals:
    data = event.data
    match event.kind:
        case "review_opened":
            return replace(totals, stage=Stage.REVIEW, reviewed=True, doing="waiting for a person")
        case "decided" if data["action"] in ("revise", "edit"):
            return _again(totals, "back to the executor")
        case "decided" if data["action"] == "delegate":
            return replace(totals, stage=Stage.VERDICT, doing="the critic judges the evidence")
        case "decided":
            return replace(totals, stage=Stage.VERDICT, doing="finishing")
        case "critiqued" if data["verdict"] == "revise":
            return _again(totals, "back to the executor")
        case "critiqued":
            return replace(totals, stage=Stage.VERDICT, doing="summing up")
        case "begun_anew":
            begun = Totals(reviewed=totals.reviewed)
            return replace(begun, calls=totals.calls, tokens=totals.tokens, cost=totals.cost)
        case "given_back" | "lease_lost":
            return replace(totals, doing="waiting for a worker to go on")
        case "succeeded" | "failed" | "cancelled":
            return replace(totals, stage=Stage.DONE, doing=event.kind)
        case _:
            return totals


def _again(totals: Totals, doing: str) -> Totals:
    return replace(totals, stage=Stage.CODE, revision=totals.revision + 1, doing=doing)
