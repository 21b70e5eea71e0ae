"""The payload of an open review, as the API shows it."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from jobs.model.event_data import CommentData, CritiquedData, QuestionData, VerifiedData
from jobs.model.review import Action
from jobs.model.run_data import ArtifactData, CheckReportData, RunData


class PatchData(TypedDict):
    """The change of the review; see `jobs.model.record.PatchRef`."""

    digest: str
    size: int
    files: int
    insertions: int
    deletions: int
    base: str


class EarlierCommentData(CommentData):
    """A comment of an earlier decision; see `jobs.view.comments.mark_outdated`."""

    outdated: NotRequired[bool]
    now: NotRequired[int | None]


class EarlierDecisionData(TypedDict):
    """A decision on an earlier review of the job."""

    action: Action
    by: str
    feedback: str
    override: bool
    code: NotRequired[str]
    comments: NotRequired[list[EarlierCommentData]]


class StoredFormatData(TypedDict):
    """The format of the job's checkpoints, and the release that wrote them."""

    format: int
    release: str | None


class ReadFormatsData(StoredFormatData):
    """The format that a worker writes, and the formats that it reads."""

    reads: list[int]


class ReviewPayload(TypedDict, total=False):
    """All that a person needs to decide. The kind of the review determines the fields.

    `review`: `plan` to `paused`; of a job on a repository `patch` and `bundle` (a digest), too.
    `unproven` says why an approval would be an override, or is null. `questions`: `task` and
    `questions`. `upgrade`: `reason` to `place`.
    """

    plan: list[str]
    answer: str
    code: str
    runs: list[RunData]
    artifacts: list[ArtifactData]
    critiques: list[CritiquedData]
    decisions: list[EarlierDecisionData]
    revision: int
    unproven: str | None
    verification: VerifiedData | None
    checks: CheckReportData | None
    paused: bool
    patch: PatchData
    bundle: str
    task: str
    questions: list[QuestionData]
    reason: str
    found: StoredFormatData
    worker: ReadFormatsData
    choices: dict[str, str]
    place: str
