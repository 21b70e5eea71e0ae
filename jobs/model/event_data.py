"""The data of each kind of event. The only declaration of them.

`LIFE` has the events of the job's own life, and `WORK` the events of work done. A field that may be
missing (`NotRequired`) belongs to some jobs only, or Fettle 0.1.0 did not write it. The description
of the HTTP API comes from these declarations, and tests compare the events of real workers with
them.

Steps that run in parallel are branches: their model_called, run_finished, repaired and tool_used
have `step`, the number of the step in the plan. Numbers of runs are unique. Gaps remain if a branch
has made fewer runs than another.

See ADR 33.
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
    """The job is on record."""

    by: str
    """The name of the key that submitted it."""
    person: NotRequired[str]
    """The person of that key."""
    task: str
    review: bool
    model: str | None
    priority: Priority
    retry_of: NotRequired[str]
    """The job that it retries."""
    rebase_of: NotRequired[str]
    """The job with the change that it rebases."""
    fork_of: NotRequired[str]
    """The job with the files that it starts from."""
    approvals: NotRequired[list[dict[str, Any]]]
    """The approvals of the retried job's work: the data of their events, and their time `at` (ms).
    """


class StartedData(TypedDict):
    """A worker has claimed the job."""

    attempt: int
    """The number of the attempt, from 1."""
    worker: str
    """The worker's id."""


class FetchStartedData(TypedDict):
    """The worker fetches the job's repository and checks it out."""

    url: str | None
    """Null: the repository was uploaded."""
    ref: str | None
    """A branch, a tag or a commit. Null: HEAD."""


class FilesMissingData(TypedDict):
    """The job does not have the content of all files of its commit."""

    missing: list[str]
    """The files, with the reasons: sentences."""


class SetupLeftOutData(TypedDict):
    """No dependencies were installed, because the operator allows no hosts to load them from."""

    command: str
    """The command that the repository's files suggest."""


class SetupStartedData(TypedDict):
    """The installation of the repository's dependencies has started."""

    command: str


class SetupFinishedData(TypedDict):
    """The installation of the repository's dependencies has ended."""

    command: str
    ok: bool
    reused: bool
    """Another job had installed the same dependencies before."""
    seconds: float
    output: str
    """The end of the command's output."""


class RoutedData(TypedDict):
    """The router has chosen a model for the executor."""

    difficulty: Literal["simple", "medium", "hard"]
    model: str | None
    """Null: the default model."""
    reason: str
    by: Literal["model", "default", "signals"]


class PlannedData(TypedDict):
    """The job has a plan."""

    steps: list[str]
    source: Literal["model", "caller", "default"]
    note: str | None
    waves: NotRequired[list[list[int]]]
    """The numbers of the steps that run in parallel, if the job asks for parallel steps."""


class ConflictData(TypedDict):
    """A file that branches have changed in different ways."""

    path: str
    steps: list[int]
    """The numbers of these branches' steps."""
    copies: list[str]
    """The paths at which the version of each branch is kept."""
    what: str
    """The kind of conflict."""


class LeftOutData(TypedDict):
    """A branch of the plan that was left out of the merge."""

    step: int
    why: str


class MergedData(TypedDict):
    """The files of branches were merged into one workspace."""

    steps: list[int]
    files: list[str]
    """The paths that the merge wrote or removed."""
    conflicts: list[ConflictData]
    combined: NotRequired[list[str]]
    """The texts in which several branches changed different lines. Older events lack it."""
    left_out: list[LeftOutData]
    artifacts: list[ArtifactData]


class PassedOverData(TypedDict):
    """A model that gave no reply."""

    model: str
    reason: str


class ModelCalledData(StepOfBranch):
    """A model has replied."""

    call: str
    """The id of the call."""
    role: str
    """The role that called, such as `planner`."""
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: Usd | None
    """Null: the price is unknown, or the provider reported no usage (no tokens)."""
    seconds: float
    cached_input_tokens: NotRequired[int]
    """The part of `input_tokens` that the provider read from its cache."""
    fell_back_from: NotRequired[list[PassedOverData]]
    """The models that were called before, and gave no reply."""
    recorded: NotRequired[str]
    """The digest of the recorded turn."""


class StepData(TypedDict):
    """The executor has started or finished a step of the plan."""

    step: int
    """The number of the step, from 1."""
    revision: int
    text: NotRequired[str]
    """The report of a branch that has finished."""
    runs: NotRequired[list[str]]
    """The ids of the runs of a branch that has finished."""


class QuestionData(TypedDict):
    """A question of the planner."""

    question: str
    default: str
    """The answer that counts if no person answers."""


class AskedData(TypedDict):
    """The planner asks a person."""

    questions: list[QuestionData]
    note: str


class DroppedData(TypedDict):
    """A test that was dropped, because it proves nothing."""

    id: str
    why: str


class TestsWrittenData(TypedDict):
    """The tester has written acceptance tests."""

    files: list[str]
    """The paths of the test files."""
    tests: list[str]
    """The ids of the tests."""
    dropped: list[DroppedData]
    interface: str
    """The names that the tests expect in the solution."""
    note: str


class LinesData(TypedDict):
    """The size of a change."""

    added: int
    removed: int


class _RepairedData(StepOfBranch):
    run: str
    """The id of the run that ended well."""
    of: str
    """The id of the run that had failed."""
    cause: str
    """The cause of that failure."""
    diff: TextData
    """The change between both runs."""
    lines: LinesData
    model: str
    level: int
    """The position of the model in the executor's chain of stronger models, from 0."""
    attempt: int
    """The number of the try, from 1."""
    revision: int


_Class = TypedDict("_Class", {"class": FailureKind})  # `class` is a keyword of Python


class RepairedData(_RepairedData, _Class):
    """A verification ended well after a verification had failed."""


class ExperimentData(TypedDict):
    """The verification was run again over changed files, to see whether it fails."""

    kind: NotRequired[Literal["before", "unloadable"]]
    """`before`: the files `replaced` have their state before the job. `unloadable` (the default):
    they cannot load."""
    replaced: list[str]
    """The paths of the changed files."""
    still_green: bool
    """The verification passed although the files were changed."""
    undecided: NotRequired[bool]
    """A limit ended the run, so it shows nothing."""
    end: RunEnd
    exit_code: int | None
    stdout: TextData
    stderr: TextData
    seconds: float


Source = TypeAliasType("Source", Literal["job", "checks", "model", "default", "program", "answer"])


class UnnoticedMutationData(TypedDict):
    """A small change of the code after which the verification still passes."""

    path: str
    line: int
    """The number of the line, from 1."""
    before: str
    """The line before the change."""
    after: str
    """The line after the change."""


class StrengthData(TypedDict):
    """How many mutations of the code the verification notices."""

    noticed: int
    tried: int
    untried: NotRequired[int]
    """The mutations for which no time remained."""
    unnoticed: list[UnnoticedMutationData]


class ChangedFunctionsData(TypedDict):
    """Which of the functions that the job wrote or changed the verification executes, as
    `path::qualified.name`."""

    executed: list[str]
    not_executed: list[str]


class VerifiedData(TypedDict):
    """The verification of a pass, or of a person's edit: whether its files are shown to work."""

    revision: int
    source: Source | None
    """The source of the command. `program`: the job leaves no source files, and its last program is
    the work. Null: no command was run."""
    command: str | None
    run: str | None
    """The id of the run of the command over exactly these files."""
    holds: bool
    """The run ended well, and the experiments show that it can fail."""
    problem: str | None
    """Why the run is no evidence."""
    experiments: list[ExperimentData]
    workspace: str | None
    """The digest of the files."""
    strength: NotRequired[StrengthData | None]
    """Null: no mutation was tried."""
    functions: NotRequired[ChangedFunctionsData | None]
    """Null: it was not measured."""
    notes: NotRequired[list[str]]
    """Facts that weaken the evidence and do not block an approval, one sentence each."""
    own_word: NotRequired[bool]
    """Only the program itself verifies its result, by its exit code."""
    judged_by: NotRequired[Literal["report", "exit_code"] | None]
    """Whether a report of each test exists, or only the exit code decided."""


class ToolUsedData(StepOfBranch):
    """A tool was used that makes no run of the job."""

    tool: str
    path: str | None
    ok: bool
    note: NotRequired[str]
    artifacts: NotRequired[list[ArtifactData]]
    """The files that the tool wrote."""
    diff: NotRequired[str]
    """The change of a file that existed before, as a unified diff. Missing if it has more than
    16,000 characters."""
    by: NotRequired[str]
    """`critic`, or the name of the key of a person who edited the file. Missing: the executor."""
    output: NotRequired[str]
    """The report of the critic's `run_again`, cut to size. This run does not count as a run of the
    job: its files are dropped, and it cannot verify the work."""


class AnsweredData(TypedDict):
    """The executor has answered at the end of a pass."""

    revision: int
    text: str


class PatchData(TypedDict):
    """The change in a repository: see `jobs.model.record.PatchRef`."""

    digest: str
    size: int
    files: int
    insertions: int
    deletions: int
    base: str
    lfs: NotRequired[list[str]]


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


class BegunAnewData(TypedDict):
    """The job restarts from its task."""

    by: str
    format: int | None
    """The format of the discarded checkpoints."""


class CheckedData(CheckReportData):
    """The acceptance checks were run."""

    revision: int | None
    """Null: the job is a verification."""


class UnmetData(TypedDict):
    """A criterion of the task that the work does not meet."""

    criterion: str
    location: str
    """A place in the files, such as `shop.py:12`. May be empty."""
    reason: str


class CritiquedData(TypedDict):
    """The critic has judged the work."""

    revision: int
    verdict: Verdict
    feedback: str
    run: NotRequired[str | int | None]
    """Written by Fettle 0.1.0: the first of `runs`."""
    runs: NotRequired[list[str]]
    """The ids of the runs that the verdict names."""
    score: NotRequired[float | None]
    """Written by Fettle 0.1.0."""
    failed: NotRequired[list[str]]
    """Written by Fettle 0.1.0 instead of `unmet`."""
    unmet: NotRequired[list[UnmetData]]
    overruled: NotRequired[str | None]
    """Why the critic's own verdict did not count."""
    by: NotRequired[Literal["critic", "rules"]]
    ends: NotRequired[str | None]
    """Why the job ends although it may make further revisions."""
    checks: NotRequired[dict[str, int] | None]
    """The number of acceptance checks that passed, and their total number."""


class ExerciseSetData(TypedDict):
    """A set of exercises."""

    name: str
    source: str
    digest: str
    """Sets with the same digest have the same exercises."""
    exercises: int


class BenchmarkSettingsData(TypedDict):
    """The settings of a benchmark. Results of the command may have more."""

    model: str
    repair: bool


class BenchmarkStartedData(TypedDict):
    """The benchmark has begun. The fields are the header of a file of results."""

    id: str
    """The id of the benchmark's job, or of the measurement that was imported."""
    set: ExerciseSetData
    settings: BenchmarkSettingsData
    versions: dict[str, Any]
    began: str
    """ISO 8601, in UTC."""
    format: int
    tries: int
    """The number of tries at exercises."""


class ExerciseVerdictData(TypedDict):
    """The verdict of the hidden tests."""

    passed: bool
    why: str
    """The reason if they have not passed, or a note."""
    verification: str | None
    """The id of the job that ran them."""
    digest: str
    """The digest of the files."""


class ExerciseFinishedData(TypedDict):
    """A try at an exercise has ended. The fields are a line of a file of results."""

    id: str
    """The name of the exercise."""
    repeat: int
    """The number of the try, from 1."""
    job: str | None
    """The id of the job that worked on it."""
    status: str
    reason: str | None
    why_not: str | None
    """Why the try does not count for the model. Null: it counts."""
    level: str
    first: ExerciseVerdictData | None
    """On the first attempt."""
    final: ExerciseVerdictData | None
    """On the final files."""
    score: dict[str, Any] | None
    revisions: int
    runs: int
    failures: list[str]
    """The classes of the failed runs."""
    models: list[str]
    cost: dict[str, Any]
    """The spending, as `cost.total` of a job."""
    worked_seconds: float
    job_seconds: float
    seconds: float
    at: str


class SummarizedData(TypedDict):
    """The conversation has a summary of the job."""

    text: str


class DeliveredData(TypedDict):
    """The change was pushed: see `jobs.model.record.Push`."""

    branch: str
    commit: str
    pull_request: str | None
    base: str | None
    base_moved: bool
    note: str


class GivenBackData(TypedDict):
    """A worker has returned the job to the queue."""

    why: Literal["drained", "retry"]
    """`drained`: the worker drains or cannot continue, and the attempt counts as no retry. `retry`:
    the job is tried again."""
    cause: NotRequired[Cause]
    detail: str
    delay_ms: int
    """The delay before the next try."""
    waits_for: NotRequired[str]
    """What was not available, such as `groq`."""


class LeaseLostData(TypedDict):
    """A worker has not renewed its lease in time."""

    worker: str
    crashes: int
    """The number of crashes in a row."""


class SucceededData(TypedDict):
    """The job has succeeded."""

    approved_by: str | None
    """`critic`, `rules`, or the names of persons. Null: the job has no approval. Either its request
    allows that (`unapproved`), or it is a verification."""
    unapproved: NotRequired[bool]
    override: NotRequired[bool]
    """A person approved the job against its evidence."""


class FailedData(TypedDict):
    """The job has failed."""

    reason: Reason
    detail: str


class CancelledData(TypedDict):
    """The job was cancelled."""

    by: str
    key_id: NotRequired[str]
    person: NotRequired[str]


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
    "benchmark_started": BenchmarkStartedData,
    "exercise_finished": ExerciseFinishedData,
}
LIFE: Data = {
    "submitted": SubmittedData,
    "started": StartedData,
    "fetch_started": FetchStartedData,
    "files_missing": FilesMissingData,
    "setup_left_out": SetupLeftOutData,
    "setup_started": SetupStartedData,
    "setup_finished": SetupFinishedData,
    "review_opened": ReviewOpenedData,
    "review_reminded": ReviewWaitsData,
    "review_escalated": ReviewWaitsData,
    "review_assigned": ReviewAssignedData,
    "review_expired": ReviewExpiredData,
    "voted": VotedData,
    "vote_withdrawn": VoteWithdrawnData,
    "decided": DecidedData,
    "begun_anew": BegunAnewData,
    "given_back": GivenBackData,
    "lease_lost": LeaseLostData,
    "succeeded": SucceededData,
    "failed": FailedData,
    "cancelled": CancelledData,
}
KINDS: Data = {**LIFE, **WORK}
