"""Review: the pause that asks a person. Decision: the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

EXPIRY = "expiry"
"""Signs the decision if no person decides in time."""


class ReviewKind(StrEnum):
    """The purpose of a review."""

    REVIEW = "review"
    """A person decides on the work, by an Action."""
    QUESTIONS = "questions"
    """A person answers questions of the planner."""
    UPGRADE = "upgrade"
    """An operator who knows the running releases decides: see `jobs.transitions.upgrade`."""


class Action(StrEnum):
    """A decision of a person."""

    APPROVE = "approve"
    REVISE = "revise"
    EDIT = "edit"
    REJECT = "reject"
    DELEGATE = "delegate"
    """The critic decides this time."""
    WITHDRAW = "withdraw"
    """A person takes back their approval, while another approval is missing."""
    ANSWER = "answer"
    """Answers questions. No other kind of review has this action."""


@dataclass(frozen=True, slots=True)
class Approval:
    """One person's approval of a Review that needs more than one."""

    by: str
    """The name of the person's key."""
    key_id: str
    at: int
    """The time in ms."""
    override: bool = False
    person: str = ""
    """The person of that key. '': unknown."""


def is_proven(payload: Mapping[str, Any]) -> bool:
    """Whether an approval would rest on a verification that holds. The graph puts the reason
    against it into the payload (`unproven`; null: the verification holds)."""
    return "unproven" in payload and payload["unproven"] is None


@dataclass(frozen=True, slots=True)
class Review:
    """An open question to a person."""

    id: str
    """The graph's interrupt id, if the graph asks."""
    kind: ReviewKind
    payload: Mapping[str, Any]
    """All facts that the person needs: see `jobs.model.review_data.ReviewPayload`."""
    opened_at: int = 0
    """The time in ms; set when the review is put on record."""
    expires_at: int | None = None
    """When `on_expiry` of the job's spec applies (ms). None: never."""
    expired: bool = False
    """The review has expired, and stays open."""
    approvals: tuple[Approval, ...] = ()
    """The approvals so far. The next Review begins without approvals."""
    remind_at: int | None = None
    """When an event announces the review again (ms). None: never, or it has been announced."""
    escalate_at: int | None = None
    """When an event announces the review once more (ms). None: never, or it has been announced."""

    @property
    def proven(self) -> bool:
        """See `is_proven`."""
        return is_proven(self.payload)

    @property
    def shown_by_run(self) -> bool:
        """Whether a run or the acceptance checks have shown the work to work. `proven` also holds
        for work without a run, if the job has `evidence: none` or asks a question."""
        verification = self.payload.get("verification")
        if not self.proven or not verification or not verification["holds"]:
            return False
        return verification["run"] is not None or verification["source"] == "checks"

    @property
    def paused(self) -> bool:
        """Whether the work stopped after a run, and continues at `revise`."""
        return bool(self.payload.get("paused"))

    @property
    def look_at(self) -> int | None:
        """When the sweeper looks at the review next (ms). None: never."""
        expires_at = None if self.expired else self.expires_at
        times = (self.remind_at, self.escalate_at, expires_at)
        return min((time for time in times if time is not None), default=None)


class Side(StrEnum):
    """The side of the patch that a line number refers to."""

    OLD = "old"
    """The file before the change."""
    NEW = "new"
    """The file after the change."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A person's comment on a line of the patch that a Review shows."""

    path: str
    line: int
    """Its number, from 1."""
    side: Side
    text: str
    excerpt: tuple[str, ...] = ()
    """The lines of the patch around it, each with its sign (` `, `+` or `-`)."""
    at: int = 0
    """The position of the line in `excerpt`, from 0."""
    base: int | None = None
    """The number of the line in the job's commit. None: an added line."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's answer to a Review."""

    review_id: str
    action: Action
    by: str
    """The name of the person's key. Another key may have this name later."""
    feedback: str = ""
    code: str = ""
    """Of `edit`: a program to run."""
    files: Mapping[str, str | None] = field(default_factory=dict)
    """Of `edit`: the digest of the new bytes of each file, by path. None: the file is removed."""
    override: bool = False
    """The person approves although the evidence failed or is missing. On record, it is true only if
    this was so."""
    key_id: str = ""
    """The id of that key."""
    digest: str = ""
    """The digest of the review that the person saw (`jobs.model.review_digest`). '': the request
    names none."""
    answers: tuple[str, ...] = ()
    """To questions, in their order. If an answer is blank or missing, the default counts."""
    comments: tuple[Comment, ...] = ()
    """Of `revise` and `edit`: comments on lines of the patch."""
    person: str = ""
    """The person of the key. '': the clock has decided, or the person is unknown."""
