"""Review: the pause that asks a person. Decision: the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class ReviewKind(StrEnum):
    """What is asked: `review` wants an Action, `questions` answers, `upgrade` an operator."""

    REVIEW = "review"
    QUESTIONS = "questions"
    UPGRADE = "upgrade"


class Action(StrEnum):
    """What a person can decide. `delegate` lets the critic decide this time."""

    APPROVE = "approve"
    REVISE = "revise"
    EDIT = "edit"
    REJECT = "reject"
    DELEGATE = "delegate"


@dataclass(frozen=True, slots=True)
class Review:
    """An open question. `id` is the graph's interrupt id; `payload` is all a person needs to see.

    payload: {plan: [str], answer: str, code: str, runs: [run], artifacts: [artifact],
    critiques: [critique], decisions: [decision], revision: int}
    """

    id: str
    kind: ReviewKind
    payload: Mapping[str, Any]
    opened_at: int


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's answer to the Review `review_id`; `by` is the name of the key that gave it."""

    review_id: str
    action: Action
    by: str
    feedback: str = ""
    code: str = ""
    override: bool = False
    """Approved although no run had succeeded: recorded as an override."""
