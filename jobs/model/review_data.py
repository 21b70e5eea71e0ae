"""The payload of an open review, as the API shows it."""

from __future__ import annotations

from typing import NotRequired

from typing_extensions import TypedDict

from jobs.model.event_data.evidence import CritiquedData, VerifiedData
from jobs.model.event_data.plans import QuestionData
from jobs.model.event_data.repositories import PatchData
from jobs.model.event_data.reviews import CommentData
from jobs.model.review import Action
from jobs.model.run_data import ArtifactData, CheckReportData, RunData


class OwnersData(TypedDict):
    """Changed files that have the same owners in CODEOWNERS of the base commit."""

    path: str
    """The first of these files."""
    owners: list[str]


class EarlierCommentData(CommentData):
    """A comment of an earlier decision: see `jobs.view.comments.mark_outdated`."""

    outdated: NotRequired[bool]
    """The line has changed since."""
    now: NotRequired[int | None]
    """The present number of the line. Null: the patch does not show it."""


class EarlierDecisionData(TypedDict):
    """A decision on an earlier review of the job."""

    action: Action
    by: str
    feedback: str
    override: bool
    code: NotRequired[str]
    files: NotRequired[dict[str, str | None]]
    """The digest of each file of an edit, by path. Null: the file was removed."""
    comments: NotRequired[list[EarlierCommentData]]


class StoredFormatData(TypedDict):
    """The format of the job's checkpoints."""

    format: int
    release: str | None
    """The release of Fettle that wrote them."""


class ReadFormatsData(StoredFormatData):
    """The format that a worker writes."""

    reads: list[int]
    """The formats that the worker reads."""


class ReviewPayload(TypedDict, total=False):
    """All facts that a person needs to decide. The kind of the review determines the fields."""

    plan: list[str]
    """This and the next fields, up to `bundle`: of the kind `review`."""
    answer: str
    code: str
    runs: list[RunData]
    artifacts: list[ArtifactData]
    critiques: list[CritiquedData]
    decisions: list[EarlierDecisionData]
    revision: int
    unproven: str | None
    """Why an approval would be an override. Null: the verification holds."""
    verification: VerifiedData | None
    checks: CheckReportData | None
    paused: bool
    """The work stopped after a run, and continues at `revise`."""
    refused_edit: str | None
    """Why the files of the latest decision, an edit, were not written. Null: they were."""
    patch: PatchData
    """The change, if the job is on a repository."""
    bundle: str
    """The digest of the same change as a git bundle."""
    owners: list[OwnersData]
    """The owners of the changed files, if a review rule needs them."""
    task: str
    """This and `questions`: of the kind `questions`."""
    questions: list[QuestionData]
    reason: str
    """This and the next fields: of the kind `upgrade`."""
    found: StoredFormatData
    worker: ReadFormatsData
    choices: dict[str, str]
    """The possible decisions, and their effects."""
    place: str
    """The damaged checkpoint or journal entry, if one is damaged."""
