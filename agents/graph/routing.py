"""Where the graph goes next. Pure functions of the state and the bounds."""

from __future__ import annotations

from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Send

from agents.attempt import Ports
from agents.parallel.branch import branch_of
from agents.state import Action, State

_AFTER_REVIEW: dict[str, Literal["summarize", "executor", "edit", "critic"]] = {
    Action.APPROVE: "summarize",
    Action.REVISE: "executor",
    Action.EDIT: "edit",
    Action.DELEGATE: "critic",
}


def at_start(state: State) -> Literal["asker", "tester", "planner"]:
    """To the asker, if the job allows questions."""
    return "asker" if state["job"].get("questions") else before_planning(state)


def after_asker(state: State) -> Literal["questions", "tester", "planner"]:
    """To the person, if there are questions."""
    return "questions" if state.get("asked") else before_planning(state)


def before_planning(state: State) -> Literal["tester", "planner"]:
    """To the tester, if the job asks for tests."""
    return "tester" if state["job"].get("write_tests") else "planner"


def to_work(state: State) -> list[Send] | Literal["executor"]:
    """To one branch for each step of the next wave; to the executor when no wave is left."""
    waves, ended = state.get("waves", []), state.get("merged", 0)
    if ended >= len(waves):
        return "executor"
    wave = waves[ended]
    return [Send("branch", branch_of(state, wave, step)) for step in wave]


def after_verification(_: State, runtime: Runtime[Ports]) -> Literal["review", "critic"]:
    """To the person, if the job has a review; else to the critic. A retry may change that, so it is
    no part of the state."""
    return "review" if runtime.context.bounds.review else "critic"


def after_review(state: State) -> Literal["summarize", "executor", "edit", "critic"]:
    """To the node of the person's latest decision."""
    return _AFTER_REVIEW[state["decisions"][-1]["action"]]


def after_critic(state: State) -> Literal["summarize", "executor"]:
    """Back to the executor, unless approved or out of revisions."""
    done = state["approved_by"] is not None or state["exhausted"]
    return "summarize" if done else "executor"
