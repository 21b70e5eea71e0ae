"""Reviews and decisions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from api.schemas import patterns
from api.schemas.fields import NextCursor, RequestModel, ResponseModel, Time
from jobs.model.event_data.reviews import EvidenceData
from jobs.model.review import Action, ReviewKind, Side
from jobs.model.review_data import ReviewPayload
from jobs.model.visibility import has_visible_text
from jobs.view.suggestion import Suggestion, read_suggestions

_ONLY = {
    "code": (Action.EDIT,),
    "files": (Action.EDIT,),
    "answers": (Action.ANSWER,),
    "comments": (Action.REVISE, Action.EDIT),
    "override": (Action.APPROVE,),
}


class SentComment(RequestModel):
    """A comment on a line of the patch."""

    path: str = Field(min_length=1, max_length=4_096, description="the file, as the patch names it")
    line: int = Field(ge=1, le=999_999_999)
    side: Side = Field(
        Side.NEW, description="whether `line` is the number after the change, or before it (`old`)"
    )
    text: str = Field(pattern=patterns.SOME_TEXT, max_length=2_000)

    @property
    def suggestions(self) -> list[Suggestion]:
        """The lines that the comment suggests."""
        return read_suggestions(self.text, self.line)


class LineComment(ResponseModel):
    """A comment on a line of the patch; `outdated` and `now` only in the payload of a later
    review."""

    path: str
    line: int
    side: Side
    text: str
    excerpt: list[str] = Field(description="the lines of the patch around it, with their signs")
    at: int = Field(description="the line's place in `excerpt`, from 0")
    base: int | None = Field(description="its number before the change; null of an added line")


class ReviewRequest(RequestModel):
    """The body of POST /jobs/{id}/review."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"action": "approve"},
                {"action": "approve", "override": True, "feedback": "The test is wrong"},
                {"action": "revise", "feedback": "Handle the empty list too"},
                {
                    "action": "revise",
                    "comments": [{"path": "src/dates.py", "line": 12, "text": "Why not divmod?"}],
                },
                {"action": "edit", "files": {"src/dates.py": "ISO = True\n", "src/old.py": None}},
                {"action": "edit", "code": "print('by hand')"},
                {"action": "reject", "feedback": "Not what I asked for"},
                {"action": "delegate"},
                {"action": "answer", "answers": ["ISO dates", ""]},
            ]
        }
    )

    action: Action = Field(
        description="`delegate` lets the critic decide this time, if one approval is enough; "
        "`withdraw` takes back your approval as long as the second is missing"
    )
    feedback: str = Field(
        "",
        max_length=20_000,
        description="required by reject, by an override, and by revise if the work is not "
        "`paused` and there are no comments",
    )
    code: str = Field(
        "",
        max_length=200_000,
        description="of `edit`: a Python program, which runs after the files",
    )
    files: dict[str, str | None] = Field(
        default_factory=dict,
        description="of `edit`: the complete new text of each file, by path; null removes "
        "the file. An edit needs `files`, `code`, or a comment with a suggestion",
    )
    review_id: str | None = Field(
        None, max_length=200, description="the review to decide on; 409 if another is open"
    )

    digest: str | None = Field(
        None,
        pattern=patterns.DIGEST,
        description="the `digest` of the review that you read; 409 if it is not the open one's",
    )

    answers: list[Annotated[str, Field(max_length=2_000)]] = Field(
        default_factory=list,
        max_length=10,
        description="of `answer`: one for each question, in their order; a blank or missing one "
        "takes the default",
    )

    override: bool = Field(
        False,
        description="of `approve`: approve although the review's `verdict` has `needs_override`; "
        "otherwise such an approval is a 409. Recorded as an override only in this case",
    )

    comments: list[SentComment] = Field(
        default_factory=list,
        max_length=50,
        description="of `revise` and `edit`: on lines of the patch that this review shows. An edit "
        "replaces the line of a comment that has a fenced block `suggestion`",
    )

    @model_validator(mode="after")
    def _complete(self) -> ReviewRequest:
        for name, actions in _ONLY.items():
            if getattr(self, name) and self.action not in actions:
                raise PydanticCustomError(
                    "not_wanted",
                    "{action} takes no {field}: only {only} takes it",
                    {"action": self.action, "field": name, "only": " or ".join(actions)},
                )
        if self.action is Action.REJECT and not has_visible_text(self.feedback):
            raise PydanticCustomError("needed", "reject needs feedback", {"field": "feedback"})
        changes_work = self.files or any(comment.suggestions for comment in self.comments)
        if self.action is Action.EDIT and not (changes_work or has_visible_text(self.code)):
            message = "edit needs code, files, or a comment with a ```suggestion"
            raise PydanticCustomError("needed", message, {"field": "code"})
        return self


class ClaimRequest(RequestModel):
    """The body of POST /jobs/{id}/review/claim."""

    assignee: str = Field(
        "me",
        max_length=200,
        description="`me`, or a person with a key that may review; empty releases the review",
    )


class Approval(ResponseModel):
    """An approval of a review that needs several."""

    by: str = Field(description="the name of the key")
    person: str = Field("", description="the person of the key")
    at: Time
    override: bool = False


class PastApproval(Approval):
    """An approval of a job's result."""

    digest: str = Field("", description="the digest of the review that the person approved")
    feedback: str = Field("", description="the person's remark")
    evidence: EvidenceData | None = Field(
        None, description="the review's verdict at that time; null from an older release"
    )


class Review(ResponseModel):
    """The open review. Its payload has all that a person needs to decide."""

    id: str
    kind: ReviewKind
    opened_at: Time
    expires_at: Time | None = Field(None, description="when `on_expiry` applies; null: never")
    expired: bool = Field(False, description="it has expired, and stays open")
    assignee: str = Field("", description="the person who has claimed it; empty: no person")
    digest: str = Field(
        "", description="SHA-256 of code, output and artifacts, which a decision can name"
    )
    actions: list[Action] = Field(
        default_factory=list,
        description="the decisions that the review takes: `delegate`, to the critic, only if one "
        "approval is enough, and no person has to approve a delivery; `withdraw` only if there is "
        "an approval, and from its author",
    )
    approvals: list[Approval] = Field(
        default_factory=list, description="the approvals so far, while it needs more"
    )
    approvals_needed: int = 1
    verdict: EvidenceData | None = Field(
        None, description="how far the evidence supports an approval; null: no review of work"
    )
    payload: ReviewPayload


class Decision(ResponseModel):
    """A person's decision."""

    review_id: str
    action: Action
    by: str = Field(description="the name of the key")
    person: str = Field("", description="the person of the key; empty from an older release")
    feedback: str = ""
    override: bool = False
    evidence: EvidenceData | None = Field(
        None, description="the review's verdict at that time; null from an older release"
    )
    at: Time
    digest: str = Field("", description="the review's digest")
    digest_named: bool = Field(False, description="whether the author named the digest")
    approvals: list[str] = Field(default_factory=list, description="the persons who approved it")
    rules: list[str] = Field(default_factory=list, description="the operator's rules that applied")
    answers: list[str] | None = Field(None, description="to questions, in their order")
    comments: list[LineComment] | None = Field(None, description="on lines of the patch")
    files: dict[str, str | None] | None = Field(
        None, description="of an edit: the digest of each file, by path; null: it was removed"
    )


class Decided(ResponseModel):
    """A decision for audits. Fields that an older release did not record are null."""

    at: Time
    job_id: str
    event: int = Field(description="the number of the job's event")
    kind: Literal["decided", "voted", "vote_withdrawn"] = Field(
        description="voted: one of two approvals; vote_withdrawn: it was taken back"
    )
    review_id: str | None
    action: Action
    by: str | None
    key_id: str | None
    approvals: str | None = Field(description="the persons who approved it")
    override: bool | None
    digest: str | None
    digest_named: bool | None = Field(description="whether the author named the digest")
    feedback: str | None
    comments: list[LineComment] | None = Field(description="on lines of the patch")
    person: str | None = Field(description="the person of the key")
    evidence: str | None = Field(
        description="level and reason of the review's verdict, such as `red: 1 test fails`"
    )
    rules: str | None = Field(description="the operator's review rules that applied")


class DecidedList(ResponseModel):
    """A page of the decisions, oldest first."""

    decisions: list[Decided]
    total: int
    limit: int
    offset: int
    next: NextCursor = None
