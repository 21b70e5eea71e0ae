"""Review: the pause that asks a person. Decision: the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

EXPIRY = "expiry"
"""Who decided where nobody did in time."""


class ReviewKind(StrEnum):
    """What is asked: `review` wants an Action, `questions` answers, `upgrade` an operator who knows
    which releases run (see jobs.transitions.upgrade)."""

    REVIEW = "review"
    QUESTIONS = "questions"
    UPGRADE = "upgrade"


class Action(StrEnum):
    """What a person can decide. `delegate` lets the critic decide this time; `answer` is for
    questions alone."""

    APPROVE = "approve"
    REVISE = "revise"
    EDIT = "edit"
    REJECT = "reject"
    DELEGATE = "delegate"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Approval:
    """One person's approval of a Review that needs more than one; `at` in ms."""

    by: str
    key_id: str
    at: int
    override: bool = False
    person: str = ""
    """The person of that key; '' if an older release has recorded the approval."""


@dataclass(frozen=True, slots=True)
class Review:
    """An open question. `payload` is all a person needs to see.

    `id` is the graph's interrupt id where the graph asks. payload of a `review`: {plan: [str],
    answer: str, code: str, runs: [run], artifacts: [artifact], critiques: [critique],
    decisions: [decision], revision: int, checks: report or null, paused: bool}, and of a job on a
    repository {patch: PatchRef's fields, bundle: digest}, where there are; there each comment of
    an earlier decision has `outdated` and `now` (see jobs.view.comments); of `questions`:
    {task: str, questions: [{question, default}]}; of an `upgrade`: see jobs.transitions.upgrade.
    `opened_at` (ms) is set as it is put on record. At `expires_at` an event says once that it has
    expired; `expired`: that was done, and it stays open. At `remind_at` and `escalate_at` an event
    announces it again; None: never, or done. `approvals` are those that it has while it needs more;
    the next Review begins with none.
    """

    id: str
    kind: ReviewKind
    payload: Mapping[str, Any]
    opened_at: int = 0
    expires_at: int | None = None
    expired: bool = False
    approvals: tuple[Approval, ...] = ()
    remind_at: int | None = None
    escalate_at: int | None = None

    @property
    def proven(self) -> bool:
        """Whether an approval would rest on a verification that holds. The graph says in the
        payload why not (`unproven`: null where it would)."""
        return "unproven" in self.payload and self.payload["unproven"] is None

    @property
    def paused(self) -> bool:
        """Whether the work stopped for a look at a run, and goes on at `revise`."""
        return bool(self.payload.get("paused"))

    @property
    def look_at(self) -> int | None:
        """When the sweeper has to look at it; None: never."""
        expires_at = None if self.expired else self.expires_at
        times = (self.remind_at, self.escalate_at, expires_at)
        return min((time for time in times if time is not None), default=None)


class Side(StrEnum):
    """Which of a line's two numbers is meant: that before the change, or after it."""

    OLD = "old"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Comment:
    """A person's comment on a line of the patch that a Review shows.

    `excerpt` are the lines of the patch around it, each with its sign (` `, `+` or `-`); `at` is
    the line's place among them, from 0. `base` is the line's number in the job's commit, None of
    an added line.
    """

    path: str
    line: int
    side: Side
    text: str
    excerpt: tuple[str, ...] = ()
    at: int = 0
    base: int | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's answer to the Review `review_id`; `by` is the name of the key that gave it, which
    another key may have later, and `key_id` its id. `digest` is that of what the person saw (see
    jobs.model.review_digest); '' from a caller who does not say.
    """

    review_id: str
    action: Action
    by: str
    feedback: str = ""
    code: str = ""
    override: bool = False
    """Approved although the evidence failed: recorded as an override."""
    key_id: str = ""
    digest: str = ""
    answers: tuple[str, ...] = ()
    """To questions, in their order; a blank or a missing one leaves it to the default."""
    comments: tuple[Comment, ...] = ()
    """Of `revise`: on lines of the patch."""
    person: str = ""
    """The person of the key; '' from the clock, and if an older release has recorded it."""
