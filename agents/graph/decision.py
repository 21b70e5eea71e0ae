"""A person's decision: the value that the graph is resumed with."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, NotRequired

from typing_extensions import TypedDict


class Action(StrEnum):
    """What a decision makes the graph do. A rejected job does not return to the graph."""

    APPROVE = "approve"
    REVISE = "revise"
    EDIT = "edit"
    DELEGATE = "delegate"


class Answers(TypedDict):
    """The resume value of the questions: one answer for each, in order. A blank or missing answer
    means the default. `by` is the person's name."""

    action: Literal["answer"]
    by: str
    answers: list[str]


class Comment(TypedDict):
    """A comment on a line of the patch; `excerpt` are the lines of the patch around it, each with
    its sign, and `at` is the line's place among them, from 0. `base` is its number before the
    change, None of an added line."""

    path: str
    line: int
    side: Literal["old", "new"]
    text: str
    excerpt: list[str]
    at: int
    base: int | None


class Decision(TypedDict):
    """The resume value of a review. LangGraph validates it: a wrong one raises, and the job stays
    paused. `by` is the person's name; `feedback` and `comments` go with revise, `code` with edit.
    """

    action: Literal["approve", "revise", "edit", "delegate"]
    by: str
    feedback: NotRequired[str]
    code: NotRequired[str]
    override: NotRequired[bool]
    comments: NotRequired[list[Comment]]
