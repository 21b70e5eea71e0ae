"""The data of each kind of event: declared here, and nowhere else.

`LIFE` are the events of the job's own life, `WORK` those of work done. A field that may be missing
(`NotRequired`) either belongs to some jobs alone or was not written by an older release. The
description of the HTTP API is made of these declarations, and tests compare the events of real
workers with them.

Steps that run in parallel are branches: their model_called, run_finished, repaired and tool_used
have `step`, the number in the plan. Numbers of runs are unique; gaps remain where a branch has made
fewer runs than another.

Why: docs/decisions/0033-event-kinds-are-declared-once.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import StringConstraints
from typing_extensions import TypeAliasType, TypedDict

from jobs.model.record import Cause, Reason
from jobs.model.review import Action, ReviewKind, Side
from jobs.model.run_data import (
    ArtifactData,
    CheckReportData,
    FailureKind,
    RunData,
    RunEnd,
    StepOfBranch,
    TextData,
)
from jobs.model.spec import OnExpiry, Priority

Usd = Annotated[str, StringConstraints(pattern=r"^-?\d+(\.\d+)?(E[+-]?\d+)?$")]
"""An amount in US dollars, as `decimal.Decimal` writes it."""
Verdict = TypeAliasType("Verdict", Literal["approve", "revise"])


class SubmittedData(TypedDict):
    """The job is on record; `retry_of` is the job that it retries, `rebase_of` the job with the
    change that it rebases. `by` is the name of the key that submitted it, `person` the key's
    person."""

    by: str
    person: NotRequired[str]
    task: str
    review: bool
    model: str | None
    priority: Priority
    retry_of: NotRequired[str]
    rebase_of: NotRequired[str]


class StartedData(TypedDict):
    """A worker has claimed it."""

    attempt: int
    worker: str


class FetchStartedData(TypedDict):
    """The job's repository is being fetched, and checked out; `url` is null of one that was
    sent."""

    url: str | None
    ref: str | None


class SetupLeftOutData(TypedDict):
    """The repository's files suggest `command` to install its dependencies, and the operator has
    named no hosts for that: it was not run."""

    command: str


class SetupStartedData(TypedDict):
    """The repository's dependencies are being installed."""

    command: str


class SetupFinishedData(TypedDict):
    """They are installed, in `seconds` (`reused`: another job had done so), or `output` is the end
    of what the command printed."""

    command: str
    ok: bool
    reused: bool
    seconds: float
    output: str


class RoutedData(TypedDict):
    """Which model the router has chosen for the executor; null: the default."""

    difficulty: Literal["simple", "medium", "hard"]
    model: str | None
    reason: str
    by: Literal["model", "default", "signals"]


class PlannedData(TypedDict):
    """The plan. `waves`: numbers of the steps that run in parallel, where the job asks for that."""

    steps: list[str]
    source: Literal["model", "caller", "default"]
    note: str | None
    waves: NotRequired[list[list[int]]]


class ConflictData(TypedDict):
    """A file that branches have changed differently; `copies` are the paths of their versions."""

    path: str
    steps: list[int]
    copies: list[str]
    what: str


class LeftOutData(TypedDict):
    """A branch whose files did not fit."""

    step: int
    why: str


class MergedData(TypedDict):
    """The files of branches were merged into one workspace; `files` are paths written or
    removed."""

    steps: list[int]
    files: list[str]
    conflicts: list[ConflictData]
    left_out: list[LeftOutData]
    artifacts: list[ArtifactData]


class PassedOverData(TypedDict):
    """A model that gave no reply."""

    model: str
    reason: str


class ModelCalledData(StepOfBranch):
    """A reply of a model. `cost_usd` is null if no price is known, or if the provider reported
    no usage (no tokens); `fell_back_from` are models passed over for the one that answered;
    `recorded` is the digest of its turn."""

    call: str
    role: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: Usd | None
    seconds: float
    cached_input_tokens: NotRequired[int]
    fell_back_from: NotRequired[list[PassedOverData]]
    recorded: NotRequired[str]


class StepData(TypedDict):
    """A step of the plan, from 1, began or ended as the executor says; a branch that comes back
    says `text` and which `runs` it has made."""

    step: int
    revision: int
    text: NotRequired[str]
    runs: NotRequired[list[str]]


class QuestionData(TypedDict):
    """A question of the planner's, and what counts where nobody answers."""

    question: str
    default: str


class AskedData(TypedDict):
    """What the planner would like to know."""

    questions: list[QuestionData]
    note: str


class DroppedData(TypedDict):
    """A test that was dropped, since it proves nothing."""

    id: str
    why: str


class TestsWrittenData(TypedDict):
    """The tester's tests; `files` are paths, `tests` names."""

    files: list[str]
    tests: list[str]
    dropped: list[DroppedData]
    interface: str
    note: str


class LinesData(TypedDict):
    """How much was changed."""

    added: int
    removed: int


class _RepairedData(StepOfBranch):
    run: str
    of: str
    cause: str
    diff: TextData
    lines: LinesData
    model: str
    level: int
    attempt: int
    revision: int


_Class = TypedDict("_Class", {"class": FailureKind})  # a word of Python's


class RepairedData(_RepairedData, _Class):
    """The verification `run` ended well after `of` had failed: what was changed between them."""


class ExperimentData(TypedDict):
    """The verification run again over changed files: as they were before the job (`kind` is
    `before`), or unable to load (`unloadable`, also without `kind`). `still_green`: it passed all
    the same. `undecided`: a limit ended the run, so it shows nothing."""

    kind: NotRequired[Literal["before", "unloadable"]]
    """`before`: the files `replaced` are as they were before the job. `unloadable` (the default):
    they cannot load."""
    replaced: list[str]
    still_green: bool
    undecided: NotRequired[bool]
    """A limit ended the run, so it shows nothing."""
    end: RunEnd
    exit_code: int | None
    stdout: TextData
    stderr: TextData
    seconds: float


Source = TypeAliasType("Source", Literal["job", "checks", "model", "default", "program", "answer"])


class UnnoticedMutationData(TypedDict):
    """A small change of the code after which the verification still passes: the number of the line
    from 1, and the line before and after the change."""

    path: str
    line: int
    before: str
    after: str


class StrengthData(TypedDict):
    """How many of the mutations that were tried the verification notices."""

    noticed: int
    tried: int
    untried: NotRequired[int]
    """For which no time was left; events of older jobs lack it."""
    unnoticed: list[UnnoticedMutationData]


class ChangedFunctionsData(TypedDict):
    """Which of the functions that the job wrote or changed the verification executes, as
    `path::qualified.name`."""

    executed: list[str]
    not_executed: list[str]


class VerifiedData(TypedDict):
    """Whether the files of a pass, or of a person's edit, are shown to work: `command` ended well
    in `run`, over exactly these files, and `experiments` show that it can fail. `source` is where
    the command comes from (`program`: the job leaves no source files, and its last program is the
    work), null where nothing was run; `problem` says why it is no evidence; `workspace` is the
    digest of the files."""

    revision: int
    source: Source | None
    command: str | None
    run: str | None
    holds: bool
    problem: str | None
    experiments: list[ExperimentData]
    workspace: str | None
    strength: NotRequired[StrengthData | None]
    """Null: no mutation was tried."""
    functions: NotRequired[ChangedFunctionsData | None]
    """Null: it was not measured."""
    notes: NotRequired[list[str]]
    """Facts that weaken the evidence and do not block an approval, one sentence each."""
    own_word: NotRequired[bool]
    """A program is verified by itself alone: its exit code is the program's own word."""
    judged_by: NotRequired[Literal["report", "exit_code"] | None]
    """Whether a report of each test exists, or the exit code alone decided."""


class ToolUsedData(StepOfBranch):
    """A use of a tool that makes no run of the job; `artifacts`: what it wrote."""

    tool: str
    path: str | None
    ok: bool
    note: NotRequired[str]
    artifacts: NotRequired[list[ArtifactData]]
    diff: NotRequired[str]
    """The change of a file that existed before, as a unified diff. Missing if it has more than
    16,000 characters."""
    by: NotRequired[Literal["critic"]]
    """Missing: the executor used it."""
    output: NotRequired[str]
    """The report of the critic's `run_again`, cut to size. The run is no run of the job: nothing
    is kept of it, and no verification rests on it."""


class AnsweredData(TypedDict):
    """The executor's answer at the end of a pass."""

    revision: int
    text: str


class ReviewOpenedData(TypedDict):
    """A person is asked; `digest`: of what the review shows, see `model.review_digest`."""

    review_id: str
    kind: ReviewKind
    digest: NotRequired[str]


class ReviewWaitsData(TypedDict):
    """A review still waits."""

    review_id: str
    waited_seconds: int


class ReviewExpiredData(TypedDict):
    """Nobody has decided in time, and what counts then."""

    review_id: str
    then: OnExpiry | Literal["answer"]


class _PersonsData(TypedDict):
    review_id: str
    by: str
    key_id: NotRequired[str]
    person: NotRequired[str]
    feedback: NotRequired[str]
    override: NotRequired[bool]
    digest: NotRequired[str]
    digest_named: NotRequired[bool]


class VotedData(_PersonsData):
    """A person's approval of a review that takes more; `approvals`: so many now. `digest_named`:
    the author has named what it is about."""

    approvals: int
    approvals_needed: int


class CommentData(TypedDict):
    """A comment on a line of the patch, see `model.review.Comment`."""

    path: str
    line: int
    side: Side
    text: str
    excerpt: list[str]
    at: int
    base: int | None


class DecidedData(_PersonsData):
    """A review is closed; `approvals` are the persons who approved, `answers` those to
    questions, `comments` those on lines of the patch."""

    action: Action
    approvals: NotRequired[list[str]]
    answers: NotRequired[list[str]]
    comments: NotRequired[list[CommentData]]


class BegunAnewData(TypedDict):
    """The job restarts from its task; `format` is that of the checkpoints that no longer count."""

    by: str
    format: int | None


class CheckedData(CheckReportData):
    """A run of the acceptance checks; `revision` is null of a verification."""

    revision: int | None


class UnmetData(TypedDict):
    """A criterion of the task that the work does not meet: its place (such as `shop.py:12`, or
    empty), and the reason."""

    criterion: str
    location: str
    reason: str


class CritiquedData(TypedDict):
    """A verdict. `overruled` says why the critic's own verdict did not count, `ends` why the job
    ends although revisions are left; `checks` is how many passed, and the total."""

    revision: int
    verdict: Verdict
    feedback: str
    run: NotRequired[str | int | None]
    """Of older jobs; `runs` begins with it."""
    runs: NotRequired[list[str]]
    score: NotRequired[float | None]
    """Of older jobs."""
    failed: NotRequired[list[str]]
    """Of older jobs, in place of `unmet`."""
    unmet: NotRequired[list[UnmetData]]
    overruled: NotRequired[str | None]
    by: NotRequired[Literal["critic", "rules"]]
    ends: NotRequired[str | None]
    checks: NotRequired[dict[str, int] | None]


class SummarizedData(TypedDict):
    """What the conversation remembers of the job."""

    text: str


class DeliveredData(TypedDict):
    """The change was pushed as `branch`; see `jobs.model.record.Push`."""

    branch: str
    commit: str
    pull_request: str | None
    base: str | None
    base_moved: bool
    note: str


class GivenBackData(TypedDict):
    """A worker has returned the job to the queue: because it drains or cannot go on (`drained`, not
    counted as a try), or to try again in `delay_ms` (`retry`); `waits_for` names what was not
    available, such as `groq`, and `cause` its kind."""

    why: Literal["drained", "retry"]
    cause: NotRequired[Cause]
    detail: str
    delay_ms: int
    waits_for: NotRequired[str]


class LeaseLostData(TypedDict):
    """A worker stopped renewing its lease."""

    worker: str
    crashes: int


class SucceededData(TypedDict):
    """The end. `approved_by`: critic, or the names of persons. Null: the job has no approval, and
    was accepted because its request allows that (`unapproved`), or because it is a verification."""

    approved_by: str | None
    unapproved: NotRequired[bool]


class FailedData(TypedDict):
    """The end, and why."""

    reason: Reason
    detail: str


class CancelledData(TypedDict):
    """The end, by whom."""

    by: str


Data = Mapping[str, type[Any]]
WORK: Data = {
    "routed": RoutedData,
    "asked": AskedData,
    "tests_written": TestsWrittenData,
    "planned": PlannedData,
    "model_called": ModelCalledData,
    "run_finished": RunData,
    "repaired": RepairedData,
    "tool_used": ToolUsedData,
    "answered": AnsweredData,
    "step_started": StepData,
    "step_finished": StepData,
    "merged": MergedData,
    "checked": CheckedData,
    "verified": VerifiedData,
    "critiqued": CritiquedData,
    "summarized": SummarizedData,
    "delivered": DeliveredData,
}
LIFE: Data = {
    "submitted": SubmittedData,
    "started": StartedData,
    "fetch_started": FetchStartedData,
    "setup_left_out": SetupLeftOutData,
    "setup_started": SetupStartedData,
    "setup_finished": SetupFinishedData,
    "review_opened": ReviewOpenedData,
    "review_reminded": ReviewWaitsData,
    "review_escalated": ReviewWaitsData,
    "review_expired": ReviewExpiredData,
    "voted": VotedData,
    "decided": DecidedData,
    "begun_anew": BegunAnewData,
    "given_back": GivenBackData,
    "lease_lost": LeaseLostData,
    "succeeded": SucceededData,
    "failed": FailedData,
    "cancelled": CancelledData,
}
KINDS: Data = {**LIFE, **WORK}
