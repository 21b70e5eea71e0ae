"""Where the graph goes next. Pure functions of the state."""

from __future__ import annotations

from typing import Literal

from agents.decision import Action
from agents.state import State

_AFTER_REVIEW: dict[str, Literal["summarize", "executor", "edit", "critic"]] = {
    Action.APPROVE: "summarize",
    Action.REVISE: "executor",
    Action.EDIT: "edit",
    Action.DELEGATE: "critic",
}


def after_executor(state: State) -> Literal["review", "critic"]:
    """To the person where one is asked, else to the critic."""
    return "review" if state["job"]["review"] else "critic"


def after_review(state: State) -> Literal["summarize", "executor", "edit", "critic"]:
    """Where the person's latest decision leads."""
    return _AFTER_REVIEW[state["decisions"][-1]["action"]]


def after_critic(state: State) -> Literal["summarize", "executor"]:
    """Back to the executor, unless approved or out of revisions."""
    done = state["approved_by"] is not None or state["exhausted"]
    return "summarize" if done else "executor"
