"""Events of reviews and of the decisions of persons."""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from jobs.model.event_data.repositories import PatchData
from jobs.model.review import Action, ReviewKind, Side
from jobs.model.spec import OnExpiry


class ReviewOpenedData(TypedDict):
    """The job asks a person for a decision."""

    review_id: str
    kind: ReviewKind
    digest: NotRequired[str]
    """The digest of the review: see `jobs.model.review_digest`."""
    workspace: NotRequired[str | None]
    """This and `patch`: of the kind `review`. The digest of the manifest of the files."""
    patch: NotRequired[PatchData | None]


class ReviewWaitsData(TypedDict):
    """A review still waits for a person."""

    review_id: str
    waited_seconds: int


class ReviewExpiredData(TypedDict):
    """No person has decided in time."""

    review_id: str
    then: OnExpiry | Literal["answer"]
    """The consequence."""


class ReviewAssignedData(TypedDict):
    """A person has claimed or released the open review, or assigned it to a person."""

    review_id: str
    by: str
    """The name of the key."""
    key_id: str
    person: str
    assignee: str
    """The person; empty: the review was released."""


class EvidenceData(TypedDict):
    """How far the evidence supports an approval: see `jobs.view.verdict.Verdict`."""

    level: Literal["red", "grey", "amber", "green"]
    reason: str
    facts: list[str]
    needs_override: bool


class _PersonsData(TypedDict):
    review_id: str
    by: str
    """The name of the person's key."""
    key_id: NotRequired[str]
    """The id of that key."""
    person: NotRequired[str]
    feedback: NotRequired[str]
    override: NotRequired[bool]
    """The person approved although the evidence failed or was missing."""
    evidence: NotRequired[EvidenceData | None]
    """The evidence that the person decided on. Null: the review did not ask about work."""
    digest: NotRequired[str]
    """The digest of the review."""
    digest_named: NotRequired[bool]
    """The request named this digest."""
    rules: NotRequired[list[str]]
    """The names of the operator's review rules that applied."""


class VotedData(_PersonsData):
    """A person has approved a review that needs further approvals."""

    approvals: int
    """The number of approvals after this event."""
    approvals_needed: int


class VoteWithdrawnData(VotedData):
    """A person has taken back their approval of a review that needs further approvals."""


class CommentData(TypedDict):
    """A comment on a line of the patch: see `jobs.model.review.Comment`."""

    path: str
    line: int
    side: Side
    text: str
    excerpt: list[str]
    at: int
    base: int | None


class DecidedData(_PersonsData):
    """A person has closed a review."""

    action: Action
    approvals: NotRequired[list[str]]
    """The persons who approved."""
    answers: NotRequired[list[str]]
    """The answers to questions."""
    comments: NotRequired[list[CommentData]]
    """The comments on lines of the patch."""
    files: NotRequired[dict[str, str | None]]
    """The digest of each file of an edit, by path. Null: the file was removed."""
