"""A person's decision, as the graph is resumed with it."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NotRequired

from typing_extensions import TypedDict


class Action(StrEnum):
    """What a decision can make the graph do. A rejected job never comes back to the graph."""

    APPROVE = "approve"
    REVISE = "revise"
    EDIT = "edit"
    DELEGATE = "delegate"


class Answers(TypedDict):
    """The resume value of a pause that asks questions: one answer each, in their order; a blank or
    a missing one leaves it to the default. `by` is the person's name."""

    action: Literal["answer"]
    by: str
    answers: list[str]


class Decision(TypedDict):
    """The resume value, which LangGraph checks: a wrong one raises, and the job stays paused.

    `by` is the person's name; `feedback` belongs to revise, `code` to edit.
    """

    action: Literal["approve", "revise", "edit", "delegate"]
    by: str
    feedback: NotRequired[str]
    code: NotRequired[str]
    override: NotRequired[bool]
