"""The types of the HTTP API, by the names of its schemas. `make types` writes this file.

The models are parts of answers. They accept answers of newer services: each keeps unknown fields,
a type of words is also `str`, and an event of an unknown kind is an `UnknownEvent`. Amounts in US
dollars are decimals. The dictionaries (`TypedDict`) are bodies of requests; the service checks
their values.
"""

from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from pydantic import Discriminator, Field, Tag, TypeAdapter

from fettle._model import UNKNOWN, Model, tag_among
from fettle._model import UnknownEvent as UnknownEvent  # noqa: PLC0414 - a public name


class AcceptedForm(Model):
    """The form in which the server of a model accepts requests: learned from its refusals, or
    set by the operator in `FETTLE_MODEL_CAPABILITIES`, which comes first."""

    model: str
    """`provider:model`; in a setting also `provider:*`"""
    source: Literal["learned", "setting"] | str
    drop: list[str] | None = None
    """fields that are not sent; `section.name`: in the body's field `section`"""
    rename: dict[str, str] | None = None
    """fields that are sent by another name"""
    add: dict[str, str] | None = None
    """fields that each reply in the conversation has to have"""
    short_ids: bool = False
    """whether ids of calls have nine letters and digits"""
    named_results: bool = False
    """whether each result of a call has the name of its tool"""
    max_output_tokens: int | None = None
    """null: as the workers' settings say"""
    context_tokens: int | None = None
    """null: not known"""
    learned_at: datetime | None = None
    """the last change; null: a setting"""
    expires_at: datetime | None = None
    """null: a setting, which does not expire"""


Action = Literal["approve", "revise", "edit", "reject", "delegate", "withdraw", "answer"] | str
"""A decision of a person."""


class AnsweredData(Model):
    """The executor has answered at the end of a pass."""

    revision: int
    text: str


class AnsweredEvent(Model):
    """The executor has answered at the end of a pass."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["answered"]
    data: AnsweredData


class Approval(Model):
    """An approval of a review that needs several."""

    by: str
    """the name of the key"""
    person: str = ""
    """the person of the key"""
    at: datetime
    override: bool = False


class ArtifactData(Model):
    """A file that a run or a tool has written."""

    name: str
    digest: str
    """The sha256 of its bytes, hexadecimal."""
    size: int
    """The size in bytes."""
    media_type: str
    description: str | None = None
    """The text in a picture. For a chart of matplotlib: its axes, labels, ranges and numbers of
    points."""
    href: str | None = None
    """The path of the file. The API adds it."""


class ArtifactList(Model):
    """Files that runs and tools made, in their newest versions."""

    artifacts: list[ArtifactData]


class QuestionData(Model):
    """A question of the planner."""

    question: str
    default: str
    """The answer that counts if no person answers."""


class AskedData(Model):
    """The planner asks a person."""

    questions: list[QuestionData]
    note: str


class AskedEvent(Model):
    """The planner asks a person."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["asked"]
    data: AskedData


class AuditHead(Model):
    """The newest entry of a tenant's audit log."""

    tenant: str
    first_seq: int
    """the number of the oldest entry that is kept; 0: none"""
    seq: int
    """the number of the newest entry; 0: there is no entry"""
    hash: str
    """its hash, SHA-256 in hexadecimal"""


Status = Literal["queued", "running", "awaiting_review", "succeeded", "failed", "cancelled"] | str
"""The state of a job."""


class Batch(Model):
    """The jobs of a batch that are not removed, counted."""

    id: str
    total: int
    counts: dict[str, int]
    """the number of jobs by status"""
    ended: bool
    """whether all have ended"""
    cost_usd: Decimal | None
    """so far; null: the cost of a call is unknown"""
    known_usd: Decimal
    """the known part of the cost"""
    links: dict[str, str]


JobKind = Literal["task", "verification", "benchmark", "exercise"] | str
"""The purpose of a job."""


class JobReceipt(Model):
    """A job after a change. `GET /jobs/{id}` has the rest, for keys that may read."""

    id: str
    kind: JobKind
    status: Status
    version: int
    """the number of the job's changes"""
    links: dict[str, str]


ProblemType = (
    Literal[
        "/problems/bad-request",
        "/problems/unauthorized",
        "/problems/forbidden",
        "/problems/not-found",
        "/problems/method-not-allowed",
        "/problems/wrong-state",
        "/problems/no-open-review",
        "/problems/stale-review",
        "/problems/own-approval",
        "/problems/voted-already",
        "/problems/review-rule",
        "/problems/override-needed",
        "/problems/decision-not-offered",
        "/problems/configured-key",
        "/problems/name-taken",
        "/problems/fleet-changed",
        "/problems/removes-jobs",
        "/problems/fleet-unreadable",
        "/problems/review-rules-changed",
        "/problems/review-rules-unreadable",
        "/problems/body-too-slow",
        "/problems/body-too-large",
        "/problems/unsupported-media-type",
        "/problems/invalid-request",
        "/problems/idempotency-key-reused",
        "/problems/rate-limited",
        "/problems/too-many-wrong-keys",
        "/problems/unknown-host",
        "/problems/too-many-searches",
        "/problems/searches-busy",
        "/problems/too-many-streams",
        "/problems/streams-busy",
        "/problems/queue-full",
        "/problems/budget-taken",
        "/problems/store-full",
        "/problems/internal",
        "/problems/bytes-missing",
        "/problems/storage-unavailable",
        "/problems/store-unavailable",
        "/problems/outcome-unknown",
        "/problems/contended",
        "/problems/not-ready",
    ]
    | str
)


class FieldError(Model):
    """An error in one field."""

    field: str
    message: str
    limit: Any | None = None


class PastDecision(Model):
    """An earlier decision on a review."""

    review_id: str
    action: Action
    by: str


class Problem(Model):
    """Why a request was refused."""

    type: ProblemType
    title: str
    status: int
    detail: str
    retryable: bool
    """whether the same request may succeed later"""
    request_id: str = ""
    errors: list[FieldError] | None = None
    """of a request that is not valid"""
    scope: str | None = None
    """the scope that the key lacks"""
    state: Status | None = None
    """the job's status, where it is the reason"""
    limit: Any | None = None
    """the limit that was exceeded"""
    missing: list[str] | None = None
    """what the service needs"""
    review_id: str | None = None
    """the open review's id"""
    digest: str | None = None
    """the open review's digest"""
    decision: PastDecision | None = None
    """the decision that came first"""


class SubmittedJob(Model):
    """The answer to one request of a batch: a job or a problem."""

    index: int
    """the place in `jobs` of the request, from 0"""
    job: JobReceipt | None = None
    replayed: bool = False
    """an earlier request with this key made the job"""
    problem: Problem | None = None
    """the reason for which there is no job, as `POST /jobs` would answer it"""


class BatchReceipt(Model):
    """The answers to the requests of a batch."""

    id: str
    accepted: int
    """the number of requests with a job"""
    retryable: int
    """the number of requests whose problem is retryable: send the batch again"""
    jobs: list[SubmittedJob]
    """in the order of the requests"""
    links: dict[str, str]


class BegunAnewData(Model):
    """The job restarts from its task."""

    by: str
    format: int | None
    """The format of the discarded checkpoints."""


class BegunAnewEvent(Model):
    """The job restarts from its task."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["begun_anew"]
    data: BegunAnewData


class BenchmarkRate(Model):
    """A share of passed exercises, from 0 to 1, with its 95 % interval."""

    share: float
    low: float
    high: float


class BenchmarkRequest(Model):
    """A measurement of a model by exercises with hidden tests."""

    set: str
    """`custom`: the exercises that come with Fettle; `humaneval`, `mbpp`: the job's file is the
    published file; `file`: the job's file has your own exercises; `imported`: the job's file has
    results of `fettle bench`, and no exercise is run"""
    limit: int | None = None
    """only the first exercises; else all"""
    repeat: int = 1
    """the tries at each exercise"""
    at_once: int = 4
    """the most exercises that run at the same time"""
    budget_usd: str | float | None = None
    """no further exercise starts when the exercises have cost as much, in US dollars; else no
    limit"""


class BenchmarkSettingsData(Model):
    """The settings of a benchmark. Results of the command may have more."""

    model: str
    repair: bool


class ExerciseSetData(Model):
    """A set of exercises."""

    name: str
    source: str
    digest: str
    """Sets with the same digest have the same exercises."""
    exercises: int


class BenchmarkStartedData(Model):
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


class BenchmarkStartedEvent(Model):
    """The benchmark has begun. The fields are the header of a file of results."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["benchmark_started"]
    data: BenchmarkStartedData


class BenchmarkSummary(Model):
    """The report of a benchmark, as `fettle bench show --json` prints it."""

    set: dict[str, Any]
    """{name, source, digest, exercises}"""
    settings: dict[str, Any]
    """{model, repair, judge, max_revisions}"""
    planned: int
    """the tries at exercises that were requested"""
    tries: int
    """the tries that have ended"""
    measured: int
    """the tries that count for the model"""
    budget_usd: str | None = None
    first: BenchmarkRate | None
    """of first attempts"""
    final: BenchmarkRate | None
    """of final files"""
    cost_usd: str | None
    """null: a price is not known"""


class Bucket(Model):
    """Reviews that waited up to a limit, and longer than the bucket before."""

    up_to_seconds: int | None
    """null: longer than all others"""
    reviews: int


class CancelledData(Model):
    """The job was cancelled."""

    by: str
    key_id: str | None = None
    person: str | None = None


class CancelledEvent(Model):
    """The job was cancelled."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["cancelled"]
    data: CancelledData


Cause = (
    Literal[
        "provider", "sandbox", "storage", "redis", "repository", "packages", "machine", "stopping"
    ]
    | str
)
"""The cause for which a worker returns a job to the queue. Metrics count by it."""


class Patch(Model):
    """The change of the job in its repository; `GET /jobs/{id}/patch` has the bytes."""

    digest: str
    """sha256, hexadecimal"""
    size: int
    """bytes"""
    files: int
    """changed files"""
    insertions: int
    """lines"""
    deletions: int
    """lines"""
    base: str
    """the commit that it applies to"""
    lfs: list[str]
    """the first changed files that Git LFS would store: the patch has their bytes instead of a
    pointer"""


class ChangedFile(Model):
    """A file that the job has changed."""

    path: str
    """after the change; of a deleted file, before it"""
    notes: list[str]
    """changes other than those of lines, such as `new`"""
    insertions: int
    """lines"""
    deletions: int
    """lines"""
    unread: str
    """why its lines were not read; empty: they were"""
    facts: list[str]
    """why a reviewer should look at it: tests that are removed, skipped or weakened, test
    configuration, CI, lock files and their hosts, new dependencies, binaries, secrets,
    permissions, generated files, files outside the directories that the task names. Names and
    lines show them by pattern: a file without facts may still be wrong"""


class ChangeList(Model):
    """The change of a job's work: of the open review, else of the result, else of the present
    files."""

    since: str
    """`start`, or the number of a review"""
    until: str
    """`now`, or the number of a review"""
    patch: Patch | None
    """the stored patch; null: the job has none"""
    files: list[ChangedFile]
    """those with facts first"""
    complete: bool
    """false: the patch is too large to be read, and `files` empty"""


class ChangedFunctionsData(Model):
    """Which of the functions that the job wrote or changed the verification executes, as
    `path::qualified.name`."""

    executed: list[str]
    not_executed: list[str]


class CheckCounts(Model):
    """The acceptance tests of a job."""

    passed: int
    total: int


CheckOutcome = Literal["passed", "failed", "error", "missing", "skipped"] | str


class CheckTestData(Model):
    """One test of the checks."""

    id: str
    outcome: CheckOutcome
    """`missing`: the files have the test, but it was not reported."""
    detail: str | None = None


RunEnd = (
    Literal[
        "exited", "signaled", "timeout", "cpu", "memory", "output", "disk", "processes", "killed"
    ]
    | str
)


class TextData(Model):
    """A text."""

    text: str
    """The text, or its head and tail if it is long."""
    dropped_bytes: int
    """The bytes that `text` leaves out."""
    digest: str | None
    """The digest of the full text in the artifact store. Null: `text` is the full text."""
    href: str | None = None
    """The path of the full text. The API adds it."""


class CheckRunData(Model):
    """The run of the checks."""

    end: RunEnd
    exit_code: int | None
    signal: int | str | None
    stdout: TextData


JudgedBy = Literal["tests", "script", "exit_code", "cases"] | str


class CheckReport(Model):
    """The report of the judge; `revision` is the one that was checked."""

    passed: bool
    problem: str | None
    tests: list[CheckTestData]
    run: CheckRunData
    seconds: float
    judged_by: JudgedBy | None = None
    revision: int | None = None
    at: datetime | None = None


class CheckReportData(Model):
    """The result of the checks."""

    passed: bool
    problem: str | None
    """A reason against the work that is not the outcome of a test."""
    tests: list[CheckTestData]
    run: CheckRunData
    seconds: float
    judged_by: JudgedBy | None = None
    """`tests`: each test was reported. `script`: the script reached its end. `exit_code`: only
    the exit code of the command counts. `cases`: only the cases count."""


class CheckSpec(Model):
    """The requested checks; GET /jobs/{id}/files?at=checks lists the files."""

    files: list[str]
    command: str | None = None
    cases: list[str] | None = None
    """their ids; GET /jobs/{id}/files/.fettle/cases.json?at=checks has the cases"""


class CheckedStep(Model):
    """The result of one step of a check."""

    step: str
    """`forced_tool`: the model calls the only tool, as planner and critic need it; `tool_call`:
    it calls one of the executor's tools; `tool_result`: it answers to the conversation with that
    call and its result; `usage`: every reply reports its tokens"""
    required: bool
    """whether no job can run without it"""
    ok: bool | None
    """null: not tried, because an earlier step failed"""
    error: str | None
    """what failed"""
    seconds: float | None
    """the time of the step's requests"""


class CheckedModel(Model):
    """The outcome of the check of one model. Unknown values are null."""

    name: str
    ok: bool
    """whether a job can run: all required steps have worked"""
    error: str | None
    """the first failure of a required step, with advice"""
    steps: list[CheckedStep] | None = None
    """in order; empty if no request could be sent, and for recordings"""
    notes: list[str] | None = None
    """observations that keep no job from running"""
    context_tokens: int | None = None
    """see the field of GET /models"""
    seconds: float | None
    """of the whole check"""
    first_token_seconds: float | None
    input_tokens: int | None
    """of all requests of the check"""
    output_tokens: int | None
    cost_usd: Decimal | None


class Checked(Model):
    """The results, in the order of the models."""

    models: list[CheckedModel]


class CheckedData(Model):
    """The acceptance checks were run."""

    passed: bool
    problem: str | None
    tests: list[CheckTestData]
    run: CheckRunData
    seconds: float
    judged_by: JudgedBy | None = None
    revision: int | None
    """Null: the job is a verification."""


class CheckedEvent(Model):
    """The acceptance checks were run."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["checked"]
    data: CheckedData


Side = Literal["old", "new"] | str
"""The side of the patch that a line number refers to."""


class CommentData(Model):
    """A comment on a line of the patch: see `jobs.model.review.Comment`."""

    path: str
    line: int
    side: Side
    text: str
    excerpt: list[str]
    at: int
    base: int | None


class ComparedFile(Model):
    """A file that differs."""

    path: str
    notes: list[str]
    """differences other than those of lines, such as `new`"""
    diff: str
    """the hunks of its difference"""
    unread: str
    """why its lines were not compared; empty: they were"""


Priority = Literal["high", "normal", "low"] | str
"""The order in which workers claim jobs that wait."""

Reason = (
    Literal[
        "model_unavailable",
        "sandbox_unavailable",
        "budget_exhausted",
        "deadline",
        "poisoned",
        "rejected",
        "unapproved",
        "incompatible",
        "repository",
        "delivery",
        "setup",
        "storage",
        "internal",
    ]
    | str
)
"""The reason why a job failed."""

ReviewKind = Literal["review", "questions", "upgrade"] | str
"""The purpose of a review."""


class EvidenceData(Model):
    """How far the evidence supports an approval: see `jobs.view.verdict.Verdict`."""

    level: Literal["red", "grey", "amber", "green"] | str
    reason: str
    facts: list[str]
    needs_override: bool


class Waiting(Model):
    """An open review in a listing."""

    id: str
    kind: ReviewKind
    opened_at: datetime
    waiting_seconds: float
    """since it was opened"""
    expires_at: datetime | None
    """null: never"""
    expired: bool
    """whether it has expired, and stays open"""
    assignee: str = ""
    """the person who has claimed it; empty: no person"""
    approvals: list[str]
    """the authors of the approvals so far"""
    approvals_needed: int
    """the number of approvals that it takes"""
    verdict: EvidenceData | None = None
    """how far the evidence supports an approval; null: no review of work"""


class Waits(Model):
    """The reason for which a queued job waits before its next try. No worker holds the job
    during this time, which does not count as running time."""

    on: str
    """the unavailable part: a provider, `the sandbox`, `storage`"""
    until: datetime
    """the time of the next try"""
    tries: int
    """the failed tries in a row"""
    why: str
    """the last error"""


class Queued(Model):
    """The reason for which no worker runs a queued job."""

    reason: (
        Literal["rests", "in_line", "no_worker", "broken_workers", "other_release", "busy", "next"]
        | str
    )
    """`rests`: it waits for its next try, see `waits`; `in_line`: another job of its
    conversation comes first (not in a listing); `no_worker`: no worker is running;
    `broken_workers`: no worker can take jobs; `other_release`: no worker can resume it; `busy`:
    all workers hold as many jobs as they can; `next`: a worker takes it within seconds"""
    text: str
    """the reason as a sentence"""
    place: int | None = None
    """the place among the queued jobs of your tenant, from 1; null: it rests, or waits in line.
    Not in a listing. Tenants take turns"""


class Spend(Model):
    """The cost of model calls. `cost_usd` is null if the price of a call is unknown, or if its
    usage was not reported."""

    calls: int
    """the number of calls"""
    input_tokens: int
    """the tokens of requests, cached or not"""
    cached_input_tokens: int = 0
    """the input tokens that came from the provider's cache"""
    output_tokens: int
    """the tokens of replies"""
    cost_usd: Decimal | None
    """null: not known"""
    known_usd: Decimal
    """the cost of the calls with a known cost"""
    unpriced_calls: int = 0
    """the calls with an unknown price"""
    unreported_calls: int = 0
    """the calls whose usage the provider did not report"""


class Outcome(Model):
    """A job with the outcome of its open review, else of its result."""

    id: str
    kind: JobKind = "task"
    status: Status
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    """the first attempt; null: not started"""
    finished_at: datetime | None
    """the final state; null: not final"""
    unapproved: bool = False
    """the job has ended without approval: failed as `unapproved`, or accepted because of
    `on_exhausted`"""
    override: bool = False
    """the job's approval overrode its evidence"""
    task: str
    conversation_id: str
    batch_id: str | None = None
    """the batch that it was submitted with"""
    labels: list[str]
    priority: Priority
    model: str | None
    """null: the worker's default"""
    submitted_by: str
    """the name of the key"""
    person: str = ""
    """the person of that key"""
    attempts: int
    """how often a worker has claimed the job"""
    open_review: str | None
    """the id of the open review"""
    reason: Reason | None
    """the reason for which it failed"""
    approved_by: str | None
    """critic, the names of persons, or null"""
    revisions: int = 0
    """as of its last pause, or its end"""
    cost_usd: Decimal | None = None
    """null: the cost of a call is unknown"""
    known_usd: Decimal = Decimal(0)
    unpriced_calls: int = 0
    """the calls with an unknown price"""
    unreported_calls: int = 0
    """the calls whose usage the provider did not report"""
    review: Waiting | None = None
    """the open review"""
    waits: Waits | None = None
    """an outage, or a provider's Retry-After"""
    queued: Queued | None = None
    """of a queued job: the reason for which no worker runs it"""
    links: dict[str, str] | None = None
    answer: str
    """the model's answer; empty: none yet"""
    verdict: EvidenceData | None
    """how far the evidence supports the work; null: no work yet"""
    checks: CheckCounts | None
    """null: it has none, or they have not run"""
    runs: int
    cost: Spend
    ran_seconds: float
    """running time, without waiting"""


class Difference(Model):
    """How the files of a job differ from those of the first job."""

    job_id: str
    files: list[ComparedFile]
    problem: str
    """why the files cannot be compared; empty: they were"""


class Comparison(Model):
    """The outcomes of jobs, and how the files of each differ from those of the first."""

    jobs: list[Outcome]
    differences: list[Difference]


class ConflictData(Model):
    """A file that branches have changed in different ways."""

    path: str
    steps: list[int]
    """The numbers of these branches' steps."""
    copies: list[str]
    """The paths at which the version of each branch is kept."""
    what: str
    """The kind of conflict."""


class Continuation(Model):
    """The earlier change of its repository that a job started from."""

    job_id: str
    """the job that made it"""
    branch: str | None
    """the branch to which a delivery adds a commit; null: a delivery makes one"""
    target: str
    """the commit of the job's ref when the job began"""
    merged: bool
    """whether the change was merged onto the commit that the job works on; false: that commit
    has the change"""
    conflicts: list[str]
    """git's message about each conflict of the merge"""


class Conversation(Model):
    """The jobs of a conversation: the newest ones, in the order of their submission."""

    id: str
    jobs: list[Outcome]
    total: int
    """the number of its jobs"""
    limit: int
    offset: int
    """the number of newer jobs that are left out"""


class Cost(Model):
    """The job's cost, by role and in total."""

    roles: dict[str, Spend]
    """by the role of the model"""
    total: Spend
    """the sum over all roles"""


Verdict = Literal["approve", "revise"] | str


class UnmetData(Model):
    """A criterion of the task that the work does not meet."""

    criterion: str
    location: str
    """A place in the files, such as `shop.py:12`. May be empty."""
    reason: str


class Critique(Model):
    """The critic's judgement of the evidence."""

    revision: int
    verdict: Verdict
    feedback: str
    run: str | int | None = None
    runs: list[str] | None = None
    score: float | None = None
    failed: list[str] | None = None
    unmet: list[UnmetData] | None = None
    overruled: str | None = None
    by: Literal["critic", "rules"] | str | None = None
    ends: str | None = None
    checks: dict[str, int] | None = None
    at: datetime


class CritiquedData(Model):
    """The critic has judged the work."""

    revision: int
    verdict: Verdict
    feedback: str
    run: str | int | None = None
    """Written by Fettle 0.1.0: the first of `runs`."""
    runs: list[str] | None = None
    """The ids of the runs that the verdict names."""
    score: float | None = None
    """Written by Fettle 0.1.0."""
    failed: list[str] | None = None
    """Written by Fettle 0.1.0 instead of `unmet`."""
    unmet: list[UnmetData] | None = None
    overruled: str | None = None
    """Why the critic's own verdict did not count."""
    by: Literal["critic", "rules"] | str | None = None
    ends: str | None = None
    """Why the job ends although it may make further revisions."""
    checks: dict[str, int] | None = None
    """The number of acceptance checks that passed, and their total number."""


class CritiquedEvent(Model):
    """The critic has judged the work."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["critiqued"]
    data: CritiquedData


class Day(Model):
    """The jobs that ended on a day (UTC)."""

    day: date
    succeeded: int
    failed: int
    cancelled: int
    straight: int
    """approved, without a failed run"""
    repaired: int
    """approved after a failed run"""
    overridden: int = 0
    """approved by a person against the evidence"""
    unapproved: int = 0
    """succeeded without approval, by `on_exhausted`"""
    decisions: int
    cost_usd: Decimal
    """of the calls with a known price"""
    unpriced_calls: int
    unreported_calls: int = 0


class LineComment(Model):
    """A comment on a line of the patch; `outdated` and `now` only in the payload of a later
    review."""

    path: str
    line: int
    side: Side
    text: str
    excerpt: list[str]
    """the lines of the patch around it, with their signs"""
    at: int
    """the line's place in `excerpt`, from 0"""
    base: int | None
    """its number before the change; null of an added line"""


class Decided(Model):
    """A decision for audits. Fields that an older release did not record are null."""

    at: datetime
    job_id: str
    event: int
    """the number of the job's event"""
    kind: Literal["decided", "voted", "vote_withdrawn"] | str
    """voted: one of two approvals; vote_withdrawn: it was taken back"""
    review_id: str | None
    action: Action
    by: str | None
    key_id: str | None
    approvals: str | None
    """the persons who approved it"""
    override: bool | None
    digest: str | None
    digest_named: bool | None
    """whether the author named the digest"""
    feedback: str | None
    comments: list[LineComment] | None
    """on lines of the patch"""
    person: str | None
    """the person of the key"""
    evidence: str | None
    """level and reason of the review's verdict, such as `red: 1 test fails`"""
    rules: str | None
    """the operator's review rules that applied"""


class DecidedData(Model):
    """A person has closed a review."""

    review_id: str
    by: str
    """The name of the person's key."""
    key_id: str | None = None
    """The id of that key."""
    person: str | None = None
    feedback: str | None = None
    override: bool | None = None
    """The person approved although the evidence failed or was missing."""
    evidence: EvidenceData | None = None
    """The evidence that the person decided on. Null: the review did not ask about work."""
    digest: str | None = None
    """The digest of the review."""
    digest_named: bool | None = None
    """The request named this digest."""
    rules: list[str] | None = None
    """The names of the operator's review rules that applied."""
    action: Action
    approvals: list[str] | None = None
    """The persons who approved."""
    answers: list[str] | None = None
    """The answers to questions."""
    comments: list[CommentData] | None = None
    """The comments on lines of the patch."""
    files: dict[str, str | None] | None = None
    """The digest of each file of an edit, by path. Null: the file was removed."""


class DecidedEvent(Model):
    """A person has closed a review."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["decided"]
    data: DecidedData


class DecidedList(Model):
    """A page of the decisions, oldest first."""

    decisions: list[Decided]
    total: int
    limit: int
    offset: int
    next: str | None = None
    """the `cursor` of the next page; null: this page is the last"""


class Decision(Model):
    """A person's decision."""

    review_id: str
    action: Action
    by: str
    """the name of the key"""
    person: str = ""
    """the person of the key; empty from an older release"""
    feedback: str = ""
    override: bool = False
    evidence: EvidenceData | None = None
    """the review's verdict at that time; null from an older release"""
    at: datetime
    digest: str = ""
    """the review's digest"""
    digest_named: bool = False
    """whether the author named the digest"""
    approvals: list[str] | None = None
    """the persons who approved it"""
    rules: list[str] | None = None
    """the operator's rules that applied"""
    answers: list[str] | None = None
    """to questions, in their order"""
    comments: list[LineComment] | None = None
    """on lines of the patch"""
    files: dict[str, str | None] | None = None
    """of an edit: the digest of each file, by path; null: it was removed"""


class Deliver(Model):
    """The delivery of an approved change to the repository that the job was fetched from."""

    branch: bool
    """push it as the branch `fettle/ID`"""
    pull_request: bool
    """open a pull or merge request from that branch"""


class DeliveredData(Model):
    """The change was pushed: see `jobs.model.record.Push`."""

    branch: str
    commit: str
    pull_request: str | None
    base: str | None
    base_moved: bool
    note: str


class DeliveredEvent(Model):
    """The change was pushed: see `jobs.model.record.Push`."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["delivered"]
    data: DeliveredData


class Delivery(Model):
    """The branch and the pull request in the repository that the job was fetched from."""

    branch: str | None
    """null: nothing was delivered, see `note`"""
    commit: str | None
    """the commit that was pushed"""
    pull_request: str | None
    """the address of the pull or merge request"""
    base: str | None
    """the branch that the change is for"""
    base_moved: bool
    """whether `base` has other commits than at the start of the job"""
    note: str
    """the reason for no delivery, or the remedy if `base` moved"""


class DescribedRule(Model):
    """A rule in force."""

    name: str
    source: Literal["file", "run time"] | str
    sentence: str
    """the rule in plain English"""


class DifficultyRow(Model):
    """The jobs with `model: auto` of a difficulty."""

    difficulty: str
    """as the router saw it: simple, medium or hard"""
    jobs: int
    approved: int
    mean_cost_usd: Decimal


class DroppedData(Model):
    """A test that was dropped, because it proves nothing."""

    id: str
    why: str


class EarlierCommentData(Model):
    """A comment of an earlier decision: see `jobs.view.comments.mark_outdated`."""

    path: str
    line: int
    side: Side
    text: str
    excerpt: list[str]
    at: int
    base: int | None
    outdated: bool | None = None
    """The line has changed since."""
    now: int | None = None
    """The present number of the line. Null: the patch does not show it."""


class EarlierDecisionData(Model):
    """A decision on an earlier review of the job."""

    action: Action
    by: str
    feedback: str
    override: bool
    code: str | None = None
    files: dict[str, str | None] | None = None
    """The digest of each file of an edit, by path. Null: the file was removed."""
    comments: list[EarlierCommentData] | None = None


class SubmittedData(Model):
    """The job is on record."""

    by: str
    """The name of the key that submitted it."""
    person: str | None = None
    """The person of that key."""
    task: str
    review: bool
    model: str | None
    priority: Priority
    retry_of: str | None = None
    """The job that it retries."""
    rebase_of: str | None = None
    """The job with the change that it rebases."""
    fork_of: str | None = None
    """The job with the files that it starts from."""
    approvals: list[dict[str, Any]] | None = None
    """The approvals of the retried job's work: the data of their events, and their time `at`
    (ms)."""


class SubmittedEvent(Model):
    """The job is on record."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["submitted"]
    data: SubmittedData


class MessageAddedData(Model):
    """A person has sent the job a message, which its models read before their next calls."""

    number: int
    """The number among the messages of the job, from 1."""
    by: str
    """The name of the key."""
    key_id: str
    person: str
    text: str


class MessageAddedEvent(Model):
    """A person has sent the job a message, which its models read before their next calls."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["message_added"]
    data: MessageAddedData


class StartedData(Model):
    """A worker has claimed the job."""

    attempt: int
    """The number of the attempt, from 1."""
    worker: str
    """The worker's id."""


class StartedEvent(Model):
    """A worker has claimed the job."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["started"]
    data: StartedData


class FetchStartedData(Model):
    """The worker fetches the job's repository and checks it out."""

    url: str | None
    """Null: the repository was uploaded."""
    ref: str | None
    """A branch, a tag or a commit. Null: HEAD."""


class FetchStartedEvent(Model):
    """The worker fetches the job's repository and checks it out."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["fetch_started"]
    data: FetchStartedData


class FilesMissingData(Model):
    """The job does not have the content of all files of its commit."""

    missing: list[str]
    """The files, with the reasons: sentences."""


class FilesMissingEvent(Model):
    """The job does not have the content of all files of its commit."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["files_missing"]
    data: FilesMissingData


class SetupLeftOutData(Model):
    """No dependencies were installed, because the operator allows no hosts to load them from."""

    command: str
    """The command that the repository's files suggest."""


class SetupLeftOutEvent(Model):
    """No dependencies were installed, because the operator allows no hosts to load them from."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["setup_left_out"]
    data: SetupLeftOutData


class SetupStartedData(Model):
    """The installation of the repository's dependencies has started."""

    command: str


class SetupStartedEvent(Model):
    """The installation of the repository's dependencies has started."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["setup_started"]
    data: SetupStartedData


class SetupFinishedData(Model):
    """The installation of the repository's dependencies has ended."""

    command: str
    ok: bool
    reused: bool
    """Another job had installed the same dependencies before."""
    seconds: float
    output: str
    """The end of the command's output."""


class SetupFinishedEvent(Model):
    """The installation of the repository's dependencies has ended."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["setup_finished"]
    data: SetupFinishedData


class PatchData(Model):
    """The change in a repository: see `jobs.model.record.PatchRef`."""

    digest: str
    size: int
    files: int
    insertions: int
    deletions: int
    base: str
    lfs: list[str] | None = None


class ReviewOpenedData(Model):
    """The job asks a person for a decision."""

    review_id: str
    kind: ReviewKind
    digest: str | None = None
    """The digest of the review: see `jobs.model.review_digest`."""
    workspace: str | None = None
    """This and `patch`: of the kind `review`. The digest of the manifest of the files."""
    patch: PatchData | None = None


class ReviewOpenedEvent(Model):
    """The job asks a person for a decision."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["review_opened"]
    data: ReviewOpenedData


class ReviewWaitsData(Model):
    """A review still waits for a person."""

    review_id: str
    waited_seconds: int


class ReviewRemindedEvent(Model):
    """A review still waits for a person."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["review_reminded"]
    data: ReviewWaitsData


class ReviewEscalatedEvent(Model):
    """A review still waits for a person."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["review_escalated"]
    data: ReviewWaitsData


class ReviewAssignedData(Model):
    """A person has claimed or released the open review, or assigned it to a person."""

    review_id: str
    by: str
    """The name of the key."""
    key_id: str
    person: str
    assignee: str
    """The person; empty: the review was released."""


class ReviewAssignedEvent(Model):
    """A person has claimed or released the open review, or assigned it to a person."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["review_assigned"]
    data: ReviewAssignedData


OnExpiry = Literal["approve", "reject", "stay"] | str
"""The consequence if no person decides in time."""


class ReviewExpiredData(Model):
    """No person has decided in time."""

    review_id: str
    then: OnExpiry | Literal["answer"]
    """The consequence."""


class ReviewExpiredEvent(Model):
    """No person has decided in time."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["review_expired"]
    data: ReviewExpiredData


class VotedData(Model):
    """A person has approved a review that needs further approvals."""

    review_id: str
    by: str
    """The name of the person's key."""
    key_id: str | None = None
    """The id of that key."""
    person: str | None = None
    feedback: str | None = None
    override: bool | None = None
    """The person approved although the evidence failed or was missing."""
    evidence: EvidenceData | None = None
    """The evidence that the person decided on. Null: the review did not ask about work."""
    digest: str | None = None
    """The digest of the review."""
    digest_named: bool | None = None
    """The request named this digest."""
    rules: list[str] | None = None
    """The names of the operator's review rules that applied."""
    approvals: int
    """The number of approvals after this event."""
    approvals_needed: int


class VotedEvent(Model):
    """A person has approved a review that needs further approvals."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["voted"]
    data: VotedData


class VoteWithdrawnData(Model):
    """A person has taken back their approval of a review that needs further approvals."""

    review_id: str
    by: str
    """The name of the person's key."""
    key_id: str | None = None
    """The id of that key."""
    person: str | None = None
    feedback: str | None = None
    override: bool | None = None
    """The person approved although the evidence failed or was missing."""
    evidence: EvidenceData | None = None
    """The evidence that the person decided on. Null: the review did not ask about work."""
    digest: str | None = None
    """The digest of the review."""
    digest_named: bool | None = None
    """The request named this digest."""
    rules: list[str] | None = None
    """The names of the operator's review rules that applied."""
    approvals: int
    """The number of approvals after this event."""
    approvals_needed: int


class VoteWithdrawnEvent(Model):
    """A person has taken back their approval of a review that needs further approvals."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["vote_withdrawn"]
    data: VoteWithdrawnData


class GivenBackData(Model):
    """A worker has returned the job to the queue."""

    why: Literal["drained", "retry"] | str
    """`drained`: the worker drains or cannot continue, and the attempt counts as no retry.
    `retry`: the job is tried again."""
    cause: Cause | None = None
    detail: str
    delay_ms: int
    """The delay before the next try."""
    waits_for: str | None = None
    """What was not available, such as `groq`."""


class GivenBackEvent(Model):
    """A worker has returned the job to the queue."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["given_back"]
    data: GivenBackData


class LeaseLostData(Model):
    """A worker has not renewed its lease in time."""

    worker: str
    crashes: int
    """The number of crashes in a row."""


class LeaseLostEvent(Model):
    """A worker has not renewed its lease in time."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["lease_lost"]
    data: LeaseLostData


class SucceededData(Model):
    """The job has succeeded."""

    approved_by: str | None
    """`critic`, `rules`, or the names of persons. Null: the job has no approval. Either its
    request allows that (`unapproved`), or it is a verification."""
    unapproved: bool | None = None
    override: bool | None = None
    """A person approved the job against its evidence."""


class SucceededEvent(Model):
    """The job has succeeded."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["succeeded"]
    data: SucceededData


class FailedData(Model):
    """The job has failed."""

    reason: Reason
    detail: str


class FailedEvent(Model):
    """The job has failed."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["failed"]
    data: FailedData


class RoutedData(Model):
    """The router has chosen a model for the executor."""

    difficulty: Literal["simple", "medium", "hard"] | str
    model: str | None
    """Null: the default model."""
    reason: str
    by: Literal["model", "default", "signals"] | str


class RoutedEvent(Model):
    """The router has chosen a model for the executor."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["routed"]
    data: RoutedData


class TestsWrittenData(Model):
    """The tester has written acceptance tests."""

    files: list[str]
    """The paths of the test files."""
    tests: list[str]
    """The ids of the tests."""
    dropped: list[DroppedData]
    interface: str
    """The names that the tests expect in the solution."""
    note: str


class TestsWrittenEvent(Model):
    """The tester has written acceptance tests."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["tests_written"]
    data: TestsWrittenData


class PlannedData(Model):
    """The job has a plan."""

    steps: list[str]
    source: Literal["model", "caller", "default"] | str
    note: str | None
    waves: list[list[int]] | None = None
    """The numbers of the steps that run in parallel, if the job asks for parallel steps."""


class PlannedEvent(Model):
    """The job has a plan."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["planned"]
    data: PlannedData


class MessagesReadData(Model):
    """A model has read messages of persons. Its reply is the next event."""

    step: int | None = None
    messages: list[int]
    """The numbers of the messages."""
    role: str
    """The role that called, such as `executor`."""


class MessagesReadEvent(Model):
    """A model has read messages of persons. Its reply is the next event."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["messages_read"]
    data: MessagesReadData


class PassedOverData(Model):
    """A model that gave no reply."""

    model: str
    reason: str


class ModelCalledData(Model):
    """A model has replied."""

    step: int | None = None
    call: str
    """The id of the call."""
    role: str
    """The role that called, such as `planner`."""
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal | None
    """Null: the price is unknown, or the provider reported no usage (no tokens)."""
    seconds: float
    cached_input_tokens: int | None = None
    """The part of `input_tokens` that the provider read from its cache."""
    fell_back_from: list[PassedOverData] | None = None
    """The models that were called before, and gave no reply."""
    recorded: str | None = None
    """The digest of the recorded turn."""


class ModelCalledEvent(Model):
    """A model has replied."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["model_called"]
    data: ModelCalledData


Tool = Literal["python", "shell", "verify"] | str


FailureKind = (
    Literal[
        "syntax",
        "import",
        "type",
        "name",
        "key",
        "value",
        "assertion",
        "file",
        "recursion",
        "zero_division",
        "timeout",
        "memory",
        "output_flood",
        "network_denied",
        "test_failure",
        "unknown",
    ]
    | str
)


class FailureData(Model):
    """Why a run failed."""

    cause: str
    exception: str | None = None
    file: str | None = None
    """The position in the job's own code."""
    line: int | None = None
    """The number of the line, from 1."""
    class_: FailureKind = Field(..., alias="class")


TestOutcome = Literal["passed", "failed", "error", "skipped", "not_run"] | str


class RunTestData(Model):
    """One test of a run."""

    id: str
    outcome: TestOutcome
    detail: str | None = None


class RunTestsData(Model):
    """The tests of a run."""

    counts: dict[str, int]
    """The number of tests by outcome."""
    tests: list[RunTestData]


class RunData(Model):
    """A run has ended."""

    step: int | None = None
    """The number of the branch's step in the plan."""
    id: str
    number: int
    """Counts the job's runs, from 1."""
    revision: int
    by: str
    """The model that wrote the code, or the person who edited it."""
    code: TextData
    end: RunEnd
    exit_code: int | None
    signal: int | str | None
    stdout: TextData
    stderr: TextData
    seconds: float
    succeeded: bool
    artifacts: list[ArtifactData]
    refused: list[str]
    """The files that were not kept, each with the reason."""
    tool: Tool | None = None
    """Missing: `python`."""
    failure: FailureData | None = None
    on: str | None = None
    """The digest of the files before the run. Null: no files."""
    workspace: str | None = None
    """The digest of the files after the run. Null: no files."""
    tests: RunTestsData | None = None
    """The tests, if the tool is `verify` and the command is pytest."""
    wall_seconds: float | None = None
    """The time limit of a shell, if it is less than the job's limit."""


class RunFinishedEvent(Model):
    """A run has ended."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["run_finished"]
    data: RunData


class LinesData(Model):
    """The size of a change."""

    added: int
    removed: int


class RepairedData(Model):
    """A verification ended well after a verification had failed."""

    step: int | None = None
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
    class_: FailureKind = Field(..., alias="class")


class RepairedEvent(Model):
    """A verification ended well after a verification had failed."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["repaired"]
    data: RepairedData


class ToolUsedData(Model):
    """A tool was used that makes no run of the job."""

    step: int | None = None
    tool: str
    path: str | None
    ok: bool
    note: str | None = None
    artifacts: list[ArtifactData] | None = None
    """The files that the tool wrote."""
    diff: str | None = None
    """The change of a file that existed before, as a unified diff. Missing if it has more than
    16,000 characters."""
    by: str | None = None
    """`critic`, or the name of the key of a person who edited the file. Missing: the executor."""
    output: str | None = None
    """The report of the critic's `run_again`, cut to size. This run does not count as a run of
    the job: its files are dropped, and it cannot verify the work."""


class ToolUsedEvent(Model):
    """A tool was used that makes no run of the job."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["tool_used"]
    data: ToolUsedData


class StepData(Model):
    """The executor has started or finished a step of the plan."""

    step: int
    """The number of the step, from 1."""
    revision: int
    text: str | None = None
    """The report of a branch that has finished."""
    runs: list[str] | None = None
    """The ids of the runs of a branch that has finished."""


class StepStartedEvent(Model):
    """The executor has started or finished a step of the plan."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["step_started"]
    data: StepData


class StepFinishedEvent(Model):
    """The executor has started or finished a step of the plan."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["step_finished"]
    data: StepData


class LeftOutData(Model):
    """A branch of the plan that was left out of the merge."""

    step: int
    why: str


class MergedData(Model):
    """The files of branches were merged into one workspace."""

    steps: list[int]
    files: list[str]
    """The paths that the merge wrote or removed."""
    conflicts: list[ConflictData]
    combined: list[str] | None = None
    """The texts in which several branches changed different lines. Older events lack it."""
    left_out: list[LeftOutData]
    artifacts: list[ArtifactData]


class MergedEvent(Model):
    """The files of branches were merged into one workspace."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["merged"]
    data: MergedData


Source = Literal["job", "checks", "model", "default", "program", "answer"] | str


class ExperimentData(Model):
    """The verification was run again over changed files, to see whether it fails."""

    kind: Literal["before", "unloadable"] | str | None = None
    """`before`: the files `replaced` have their state before the job. `unloadable` (the
    default): they cannot load."""
    replaced: list[str]
    """The paths of the changed files."""
    still_green: bool
    """The verification passed although the files were changed."""
    undecided: bool | None = None
    """A limit ended the run, so it shows nothing."""
    end: RunEnd
    exit_code: int | None
    stdout: TextData
    stderr: TextData
    seconds: float


class UnnoticedMutationData(Model):
    """A small change of the code after which the verification still passes."""

    path: str
    line: int
    """The number of the line, from 1."""
    before: str
    """The line before the change."""
    after: str
    """The line after the change."""


class StrengthData(Model):
    """How many mutations of the code the verification notices."""

    noticed: int
    tried: int
    untried: int | None = None
    """The mutations for which no time remained."""
    unnoticed: list[UnnoticedMutationData]


class VerifiedData(Model):
    """The verification of a pass, or of a person's edit: whether its files are shown to work."""

    revision: int
    source: Source | None
    """The source of the command. `program`: the job leaves no source files, and its last program
    is the work. Null: no command was run."""
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
    strength: StrengthData | None = None
    """Null: no mutation was tried."""
    functions: ChangedFunctionsData | None = None
    """Null: it was not measured."""
    notes: list[str] | None = None
    """Facts that weaken the evidence and do not block an approval, one sentence each."""
    own_word: bool | None = None
    """Only the program itself verifies its result, by its exit code."""
    judged_by: Literal["report", "exit_code"] | str | None = None
    """Whether a report of each test exists, or only the exit code decided."""


class VerifiedEvent(Model):
    """The verification of a pass, or of a person's edit: whether its files are shown to work."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["verified"]
    data: VerifiedData


class SummarizedData(Model):
    """The conversation has a summary of the job."""

    text: str


class SummarizedEvent(Model):
    """The conversation has a summary of the job."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["summarized"]
    data: SummarizedData


class ExerciseVerdictData(Model):
    """The verdict of the hidden tests."""

    passed: bool
    why: str
    """The reason if they have not passed, or a note."""
    verification: str | None
    """The id of the job that ran them."""
    digest: str
    """The digest of the files."""


class ExerciseFinishedData(Model):
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


class ExerciseFinishedEvent(Model):
    """A try at an exercise has ended. The fields are a line of a file of results."""

    seq: int
    """counts from 1, without gaps"""
    at: datetime
    kind: Literal["exercise_finished"]
    data: ExerciseFinishedData


Event = Annotated[
    Annotated[AnsweredEvent, Tag("answered")]
    | Annotated[AskedEvent, Tag("asked")]
    | Annotated[BegunAnewEvent, Tag("begun_anew")]
    | Annotated[BenchmarkStartedEvent, Tag("benchmark_started")]
    | Annotated[CancelledEvent, Tag("cancelled")]
    | Annotated[CheckedEvent, Tag("checked")]
    | Annotated[CritiquedEvent, Tag("critiqued")]
    | Annotated[DecidedEvent, Tag("decided")]
    | Annotated[DeliveredEvent, Tag("delivered")]
    | Annotated[ExerciseFinishedEvent, Tag("exercise_finished")]
    | Annotated[FailedEvent, Tag("failed")]
    | Annotated[FetchStartedEvent, Tag("fetch_started")]
    | Annotated[FilesMissingEvent, Tag("files_missing")]
    | Annotated[GivenBackEvent, Tag("given_back")]
    | Annotated[LeaseLostEvent, Tag("lease_lost")]
    | Annotated[MergedEvent, Tag("merged")]
    | Annotated[MessageAddedEvent, Tag("message_added")]
    | Annotated[MessagesReadEvent, Tag("messages_read")]
    | Annotated[ModelCalledEvent, Tag("model_called")]
    | Annotated[PlannedEvent, Tag("planned")]
    | Annotated[RepairedEvent, Tag("repaired")]
    | Annotated[ReviewAssignedEvent, Tag("review_assigned")]
    | Annotated[ReviewEscalatedEvent, Tag("review_escalated")]
    | Annotated[ReviewExpiredEvent, Tag("review_expired")]
    | Annotated[ReviewOpenedEvent, Tag("review_opened")]
    | Annotated[ReviewRemindedEvent, Tag("review_reminded")]
    | Annotated[RoutedEvent, Tag("routed")]
    | Annotated[RunFinishedEvent, Tag("run_finished")]
    | Annotated[SetupFinishedEvent, Tag("setup_finished")]
    | Annotated[SetupLeftOutEvent, Tag("setup_left_out")]
    | Annotated[SetupStartedEvent, Tag("setup_started")]
    | Annotated[StartedEvent, Tag("started")]
    | Annotated[StepFinishedEvent, Tag("step_finished")]
    | Annotated[StepStartedEvent, Tag("step_started")]
    | Annotated[SubmittedEvent, Tag("submitted")]
    | Annotated[SucceededEvent, Tag("succeeded")]
    | Annotated[SummarizedEvent, Tag("summarized")]
    | Annotated[TestsWrittenEvent, Tag("tests_written")]
    | Annotated[ToolUsedEvent, Tag("tool_used")]
    | Annotated[VerifiedEvent, Tag("verified")]
    | Annotated[VoteWithdrawnEvent, Tag("vote_withdrawn")]
    | Annotated[VotedEvent, Tag("voted")]
    | Annotated[UnknownEvent, Tag(UNKNOWN)],
    Discriminator(
        tag_among(
            frozenset(
                [
                    "answered",
                    "asked",
                    "begun_anew",
                    "benchmark_started",
                    "cancelled",
                    "checked",
                    "critiqued",
                    "decided",
                    "delivered",
                    "exercise_finished",
                    "failed",
                    "fetch_started",
                    "files_missing",
                    "given_back",
                    "lease_lost",
                    "merged",
                    "message_added",
                    "messages_read",
                    "model_called",
                    "planned",
                    "repaired",
                    "review_assigned",
                    "review_escalated",
                    "review_expired",
                    "review_opened",
                    "review_reminded",
                    "routed",
                    "run_finished",
                    "setup_finished",
                    "setup_left_out",
                    "setup_started",
                    "started",
                    "step_finished",
                    "step_started",
                    "submitted",
                    "succeeded",
                    "summarized",
                    "tests_written",
                    "tool_used",
                    "verified",
                    "vote_withdrawn",
                    "voted",
                ]
            )
        )
    ),
]
"""A past-tense fact about a job; `kind` determines the fields of `data`."""


class EventList(Model):
    """The events after a number."""

    events: list[Event]
    final: bool
    """whether the last of these is the job's final event"""


Evidence = Literal["run", "none"] | str
"""The evidence that an approval by the critic needs."""


class Exercises(Model):
    """Exercises of benchmarks, which are in no other total."""

    jobs: int = 0
    cost_usd: Decimal = Decimal(0)
    """of the calls with a known price"""


class FailureClass(Model):
    """Number of failed runs of a class."""

    class_: str = Field(..., alias="class")
    runs: int


class File(Model):
    """A file of the workspace."""

    path: str
    """relative to the workspace"""
    digest: str
    """sha256, hexadecimal"""
    size: int
    """bytes"""
    href: str
    """the path of its bytes in this API"""


class FileList(Model):
    """The workspace."""

    files: list[File]
    links: dict[str, str]
    """Symbolic links: targets by path. They cannot be downloaded, and archives do not contain
    them, because a target may lead anywhere"""
    digest: str | None
    """the digest of the manifest; null: no files"""


class Finding(Model):
    """A checked setting of Redis, with advice."""

    name: str
    """the setting of Redis"""
    value: str
    """its value, as Redis reports it"""
    verdict: Literal["ok", "warn", "refuse", "unusable"] | str
    """`refuse`: not in production; `unusable`: Fettle cannot run on this server"""
    advice: str = ""
    """the remedy"""


class FleetSetting(Model):
    """A rule, its value and its meaning."""

    name: str
    value: float
    default: float
    description: str


class FleetChange(Model):
    """Who set which values, and when."""

    version: int
    at: datetime
    by: str
    """the name of a key, or the worker that made the first record"""
    key_id: str
    """the id of that key; empty: a worker's"""
    values: dict[str, Any]
    """rules by name, and all `defaults` if they changed"""


class Fleet(Model):
    """The record that all workers follow."""

    version: int
    """0: none is on record; the first worker makes it"""
    settings: list[FleetSetting]
    defaults: dict[str, Any]
    """the terms of new jobs that leave them out"""
    changes: list[FleetChange]
    """the last 100, newest first"""


class Health(Model):
    """Whether the service is alive or ready."""

    status: Literal["alive", "ready"] | str
    version: str
    """the version of Fettle, as in 0.3.0"""
    missing: list[str] | None = None


OnExhausted = Literal["accept", "fail"] | str
"""The end of a job without approval."""

Pause = Literal["before_critic", "every_run"] | str
"""When a job with `review` asks a person."""


class Repo(Model):
    """A git repository, by its URL or as a bundle that came with the job."""

    url: str | None
    ref: str | None
    """a branch, a tag or a commit; null: HEAD"""
    bundle: str | None
    """the digest of a git bundle"""


class Rebase(Model):
    """The approved change that the job carries on."""

    job_id: str
    """the job that made it"""
    bundle: str
    """the digest of the change as a git bundle"""
    base: str
    """the commit that it was made on"""
    branch: str | None = None
    """the branch that has this commit, if one does"""
    root: str | None = None
    """the commit on which the first change of the branch was made"""
    upload: str | None = None
    """the digest of the git bundle that has this commit; null: by URL"""


class ReviewRules(Model):
    """The operator's review rules that apply to the job, as of its submission."""

    names: list[str]
    """the names of the rules"""
    conditions: list[str] = []
    """for each rule, the condition that the job meets"""
    approvers: list[list[str]]
    """lists of persons; an approver is on each list. `CODEOWNERS` stands for the persons who own
    all changed files"""
    override: bool
    """whether a person may approve against the evidence"""
    remark: bool
    """whether each approval needs a remark"""


class Spec(Model):
    """The job's request."""

    task: str
    """the task in plain English"""
    review: bool
    """whether a person is asked before the critic decides"""
    model: str | None
    """null: the worker's default"""
    steps: list[str]
    """the caller's plan; empty: the planner makes it"""
    steps_after: list[list[int] | None] | None = None
    """for each of these steps the numbers (from 1) of the steps that it needs; null: all earlier
    steps. Empty: the caller named none"""
    max_revisions: int
    """the most passes executor -> critic"""
    on_exhausted: OnExhausted
    """how a job without approval ends"""
    timeout_seconds: int
    """limit of the running time"""
    priority: Priority
    """the order among waiting jobs"""
    labels: list[str]
    """labels to find the job by"""
    retry_of: str | None = None
    """the job that this one retries"""
    fork_of: str | None = None
    """the job with the files that it started from"""
    review_expires_seconds: int | None = None
    """seconds until a review expires; null: never"""
    on_expiry: OnExpiry = "stay"
    """the outcome of an expired review"""
    review_remind_seconds: int | None = None
    """seconds until a reminder of an open review; null: none"""
    review_escalate_seconds: int | None = None
    """seconds until an open review is escalated; null: never"""
    pause: Pause = "before_critic"
    """when a reviewed job pauses"""
    record: bool = False
    """whether the model's replies are recorded"""
    approvals: int = 1
    """the number of approvals that a review takes"""
    repair: bool = True
    """whether failed code is repaired"""
    max_cost_usd: Decimal | None = None
    """spending limit in US dollars"""
    max_tokens: int | None = None
    """token limit"""
    kind: JobKind = "task"
    """a task for agents, a verification, a benchmark, or an exercise of a benchmark"""
    checks: CheckSpec | None = None
    """acceptance checks"""
    write_tests: bool = False
    """whether a tester writes acceptance tests first"""
    questions: bool = False
    """whether the planner may ask questions first"""
    questions_expire_seconds: int | None = None
    """seconds until the planner's defaults count as answers; null: never"""
    parallel: bool = False
    """whether independent steps run in parallel"""
    verify: list[str] | None = None
    """the verification command; empty: the model's own"""
    evidence: Evidence = "run"
    """the evidence that an approval needs"""
    run_seconds: int | None = None
    """time limit of one run of code"""
    run_memory_bytes: int | None = None
    """memory limit of one run"""
    max_steps: int | None = None
    """limit of the model calls of one revision"""
    repo: Repo | None = None
    """the repository that the work starts from"""
    image: str | None = None
    """the image of its sandboxes"""
    deliver: Deliver | None = None
    """the delivery of an approved change"""
    setup: str | None = None
    """the command that installs its dependencies; null: detected; empty: none"""
    rebase: Rebase | None = None
    """another job's change, which the work starts from"""
    review_rules: ReviewRules | None = None
    """the operator's rules for its reviews; null: no rule applies"""
    role_models: dict[str, list[str]] | None = None
    """the operator's models by role, with fallbacks; null: `model` plays all"""
    benchmark: BenchmarkRequest | None = None
    """the measurement"""


class Route(Model):
    """The router's choice for a job with the model `auto`."""

    difficulty: Literal["simple", "medium", "hard"] | str
    model: str | None
    reason: str
    by: Literal["model", "default", "signals"] | str
    at: datetime


class StepTime(Model):
    """The time of work on a step, without waits for a person or a worker."""

    started_at: datetime | None
    """the first start"""
    seconds: float
    """the finished time"""
    since: datetime | None
    """the beginning of the present time, which `seconds` does not include; null: the job does
    not work on the step"""


class Plan(Model):
    """The steps and their source; `progress` is the executor's report on each step, and `times`
    are the times of each step; both null without such a report."""

    steps: list[str]
    source: Literal["model", "caller", "default"] | str
    note: str | None
    waves: list[list[int]] | None = None
    progress: list[Literal["todo", "begun", "done"] | str] | None
    times: list[StepTime] | None
    at: datetime


class Run(Model):
    """One execution of code in the sandbox."""

    step: int | None = None
    id: str
    number: int
    revision: int
    by: str
    code: TextData
    end: RunEnd
    exit_code: int | None
    signal: int | str | None
    stdout: TextData
    stderr: TextData
    seconds: float
    succeeded: bool
    artifacts: list[ArtifactData]
    refused: list[str]
    tool: Tool | None = None
    failure: FailureData | None = None
    on: str | None = None
    workspace: str | None = None
    tests: RunTestsData | None = None
    wall_seconds: float | None = None
    at: datetime


class Repair(Model):
    """A verification that succeeded after a failed one."""

    step: int | None = None
    run: str
    of: str
    cause: str
    diff: TextData
    lines: LinesData
    model: str
    level: int
    attempt: int
    revision: int
    class_: FailureKind = Field(..., alias="class")
    at: datetime


class UserMessage(Model):
    """A message to the job."""

    number: int
    """the number among its messages, from 1"""
    at: datetime
    by: str
    """the name of the key"""
    person: str
    """the person of the key"""
    text: str
    read_by: list[str]
    """the roles whose models have read it; empty in a job that has ended: it had no effect"""


class Verification(Model):
    """The evidence for the files after a revision or a person's edit: the command and its run,
    and each experiment on it. `strength` is the number of small changes of the code that the
    command noticed, the number of tried changes, and the unnoticed changes; null: no change was
    tried. `functions` are the changed functions that it executed, and the others; null: not
    measured. `notes` weaken the evidence, but do not prevent an approval. `own_word`: only the
    program itself verifies its result. `judged_by` is `exit_code` without a report of each test."""

    revision: int
    source: Source | None
    command: str | None
    run: str | None
    holds: bool
    problem: str | None
    experiments: list[ExperimentData]
    workspace: str | None
    strength: StrengthData | None = None
    functions: ChangedFunctionsData | None = None
    notes: list[str] | None = None
    own_word: bool | None = None
    judged_by: Literal["report", "exit_code"] | str | None = None
    at: datetime | None = None


class OwnersData(Model):
    """Changed files that have the same owners in CODEOWNERS of the base commit."""

    path: str
    """The first of these files."""
    owners: list[str]


class StoredFormatData(Model):
    """The format of the job's checkpoints."""

    format: int
    release: str | None
    """The release of Fettle that wrote them."""


class ReadFormatsData(Model):
    """The format that a worker writes."""

    format: int
    release: str | None
    """The release of Fettle that wrote them."""
    reads: list[int]
    """The formats that the worker reads."""


class ReviewPayload(Model):
    """All facts that a person needs to decide. The kind of the review determines the fields."""

    plan: list[str] | None = None
    """This and the next fields, up to `bundle`: of the kind `review`."""
    answer: str | None = None
    code: str | None = None
    runs: list[RunData] | None = None
    artifacts: list[ArtifactData] | None = None
    critiques: list[CritiquedData] | None = None
    decisions: list[EarlierDecisionData] | None = None
    revision: int | None = None
    unproven: str | None = None
    """Why an approval would be an override. Null: the verification holds."""
    verification: VerifiedData | None = None
    checks: CheckReportData | None = None
    paused: bool | None = None
    """The work stopped after a run, and continues at `revise`."""
    refused_edit: str | None = None
    """Why the files of the latest decision, an edit, were not written. Null: they were."""
    patch: PatchData | None = None
    """The change, if the job is on a repository."""
    bundle: str | None = None
    """The digest of the same change as a git bundle."""
    owners: list[OwnersData] | None = None
    """The owners of the changed files, if a review rule needs them."""
    task: str | None = None
    """This and `questions`: of the kind `questions`."""
    questions: list[QuestionData] | None = None
    reason: str | None = None
    """This and the next fields: of the kind `upgrade`."""
    found: StoredFormatData | None = None
    worker: ReadFormatsData | None = None
    choices: dict[str, str] | None = None
    """The possible decisions, and their effects."""
    place: str | None = None
    """The damaged checkpoint or journal entry, if one is damaged."""


class Review(Model):
    """The open review. Its payload has all that a person needs to decide."""

    id: str
    kind: ReviewKind
    opened_at: datetime
    expires_at: datetime | None = None
    """when `on_expiry` applies; null: never"""
    expired: bool = False
    """it has expired, and stays open"""
    assignee: str = ""
    """the person who has claimed it; empty: no person"""
    digest: str = ""
    """SHA-256 of code, output and artifacts, which a decision can name"""
    actions: list[Action] | None = None
    """the decisions that the review takes: `delegate`, to the critic, only if one approval is
    enough, and no person has to approve a delivery; `withdraw` only if there is an approval, and
    from its author"""
    approvals: list[Approval] | None = None
    """the approvals so far, while it needs more"""
    approvals_needed: int = 1
    verdict: EvidenceData | None = None
    """how far the evidence supports an approval; null: no review of work"""
    payload: ReviewPayload


class PastApproval(Model):
    """An approval of a job's result."""

    by: str
    """the name of the key"""
    person: str = ""
    """the person of the key"""
    at: datetime
    override: bool = False
    digest: str = ""
    """the digest of the review that the person approved"""
    feedback: str = ""
    """the person's remark"""
    evidence: EvidenceData | None = None
    """the review's verdict at that time; null from an older release"""


class Result(Model):
    """The job's result."""

    answer: str
    """the model's answer"""
    approved_by: str | None
    """critic, the names of persons, or null: not approved"""
    override: bool = False
    """a person approved although the evidence failed: no verification of the final files holds,
    checks did not pass, or a conflict was left"""
    approvals: list[PastApproval] | None = None
    """of persons: who, when, on which evidence"""
    artifacts: list[ArtifactData] | None = None
    """files that runs and tools made"""
    checks: CheckReport | None = None
    """the report of the acceptance checks"""
    verification: Verification | None = None
    """the evidence that the files work"""
    patch: Patch | None = None
    """of a job on a repository: its change"""
    bundle: str | None = None
    """the digest of the change as a git bundle, see `GET /jobs/{id}/bundle`"""
    delivery: Delivery | None = None
    """of a job that delivers its change"""
    benchmark: BenchmarkSummary | None = None
    """of a benchmark: its report"""


class Job(Model):
    """The complete job."""

    id: str
    kind: JobKind = "task"
    status: Status
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    """the first attempt; null: not started"""
    finished_at: datetime | None
    """the final state; null: not final"""
    unapproved: bool = False
    """the job has ended without approval: failed as `unapproved`, or accepted because of
    `on_exhausted`"""
    override: bool = False
    """the job's approval overrode its evidence"""
    spec: Spec
    conversation_id: str
    batch_id: str | None = None
    """the batch that it was submitted with"""
    continues: Continuation | None = None
    """of a rebase, and of a follow-up on a repository, once it has begun"""
    submitted_by: str
    """the name of the key"""
    person: str = ""
    """the person of that key"""
    request_id: str
    """the id of the request that submitted it"""
    route: Route | None = None
    """of a job with the model `auto`"""
    plan: Plan | None
    runs: list[Run]
    repairs: list[Repair] | None = None
    critique: Critique | None
    """the last critique"""
    critiques: list[Critique]
    messages: list[UserMessage]
    """the messages of persons, oldest first"""
    checks: CheckReport | None = None
    """the last run of the acceptance checks"""
    verification: Verification | None = None
    """the last verification"""
    decisions: list[Decision]
    review: Review | None
    """the open review"""
    result: Result | None
    """of a failed job: its best result, which is not approved"""
    artifacts: list[ArtifactData]
    """files that runs and tools made, in their newest versions"""
    reason: Reason | None
    """the reason for which it failed"""
    detail: str
    """the reason in more words; empty if it did not fail"""
    cost: Cost
    attempts: int
    """how often a worker has claimed the job"""
    crashes: int
    """crashes of workers in a row, without progress"""
    retries: int
    """failed tries in a row because of unavailable services"""
    waits: Waits | None = None
    """an outage, or a provider's Retry-After"""
    queued: Queued | None = None
    """of a queued job: the reason for which no worker runs it"""
    last_event: int
    """the newest event's number, to follow from"""
    ran_seconds: float
    """running time, without waiting"""
    links: dict[str, str] | None = None


class JobSummary(Model):
    """A job in a listing."""

    id: str
    kind: JobKind = "task"
    status: Status
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    """the first attempt; null: not started"""
    finished_at: datetime | None
    """the final state; null: not final"""
    unapproved: bool = False
    """the job has ended without approval: failed as `unapproved`, or accepted because of
    `on_exhausted`"""
    override: bool = False
    """the job's approval overrode its evidence"""
    task: str
    conversation_id: str
    batch_id: str | None = None
    """the batch that it was submitted with"""
    labels: list[str]
    priority: Priority
    model: str | None
    """null: the worker's default"""
    submitted_by: str
    """the name of the key"""
    person: str = ""
    """the person of that key"""
    attempts: int
    """how often a worker has claimed the job"""
    open_review: str | None
    """the id of the open review"""
    reason: Reason | None
    """the reason for which it failed"""
    approved_by: str | None
    """critic, the names of persons, or null"""
    revisions: int = 0
    """as of its last pause, or its end"""
    cost_usd: Decimal | None = None
    """null: the cost of a call is unknown"""
    known_usd: Decimal = Decimal(0)
    unpriced_calls: int = 0
    """the calls with an unknown price"""
    unreported_calls: int = 0
    """the calls whose usage the provider did not report"""
    review: Waiting | None = None
    """the open review"""
    waits: Waits | None = None
    """an outage, or a provider's Retry-After"""
    queued: Queued | None = None
    """of a queued job: the reason for which no worker runs it"""
    links: dict[str, str] | None = None


class JobList(Model):
    """A page of a listing."""

    jobs: list[JobSummary]
    total: int
    """the number of matches, or a lower bound: see `total_exact`"""
    total_exact: bool = True
    """false: the search ended before it had counted all. There is a next page if `total` exceeds
    this one"""
    limit: int
    """the size of a page"""
    offset: int
    """the number of jobs before this page"""
    next: str | None = None
    """the `cursor` of the next page; null: this page is the last"""


Scope = Literal["submit", "read", "review", "admin"] | str
"""A right of a key. Scopes do not contain each other."""


class SpentToday(Model):
    """Spending since midnight UTC; unfinished calls count with their highest cost."""

    cost_usd: Decimal
    tokens: int


class Key(Model):
    """A key, without its secret. Its spending is counted if a limit applies to it."""

    id: str
    name: str
    person: str = ""
    """the owner of the key: all keys of a person together have one vote"""
    tenant: str
    scopes: list[Scope]
    created_at: datetime | None
    created_by: str
    """the name of the key that made it"""
    created_by_key: str = ""
    """the id of that key; empty from an older release"""
    expires_at: datetime | None = None
    """null: never"""
    revoked_at: datetime | None = None
    max_cost_usd_per_day: str | None = None
    max_tokens_per_day: int | None = None
    spent_today: SpentToday | None = None
    """only in listings"""
    last_used_at: datetime | None = None
    """only in listings; to the minute"""


class KeyList(Model):
    """Keys, oldest first."""

    keys: list[Key]


class Limits(Model):
    """The limits of requests and jobs; null: none."""

    max_body_bytes: int | None = None
    max_files: int | None = None
    max_files_bytes: int | None = None
    max_timeout_seconds: float | None = None
    max_run_seconds: float | None = None
    max_run_memory_bytes: int | None = None
    max_job_steps: int | None = None
    worker_seen_seconds: float | None = None
    rate_limit: str | None = None
    max_job_cost_usd: Decimal | None = None
    max_job_tokens: int | None = None


class ModelDay(Model):
    """A model's calls on one day."""

    model: str
    calls: int
    unpriced_calls: int
    """calls with an unknown price; no sum includes them"""
    unreported_calls: int = 0
    """calls whose usage the provider did not report; no sum includes them"""
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal
    day: date


class ModelSpend(Model):
    """A model's calls and their cost."""

    model: str
    calls: int
    unpriced_calls: int
    """calls with an unknown price; no sum includes them"""
    unreported_calls: int = 0
    """calls whose usage the provider did not report; no sum includes them"""
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal


class OfferedModel(Model):
    """A model in one of the workers' chains."""

    name: str
    """`provider:model`"""
    input_usd: Decimal | None
    """per million tokens; null: unknown"""
    output_usd: Decimal | None
    missing: str | None
    """what it needs to be usable; null: nothing"""
    context_tokens: int | None = None
    """tokens of a request with its reply, at most, by `FETTLE_CONTEXT_TOKENS`, the model's
    library and its server; null: not known"""


class ProviderState(Model):
    """A provider, as the workers see it."""

    name: str
    key: str
    """the variable that holds its key"""
    has_key: bool
    missing: str | None
    """what it needs to be usable; null: nothing"""


class Models(Model):
    """The report of the worker that was seen last; `differing` are workers with another report."""

    workers: int | None
    """the number of workers; null: only for the operator"""
    differing: list[str] | None
    """ids of workers with other models, keys or libraries; null: only for the operator"""
    roles: dict[str, list[list[str]]]
    """the chains of each role: its own first, then those that take over where repairs fail; in
    each chain the first model, then its fallbacks"""
    offered: list[OfferedModel]
    providers: list[ProviderState]
    accepted: list[AcceptedForm] | None = None
    """by model, for models with a form of their own"""
    recordings: list[str]
    allowed: list[str]
    """patterns of the models that a job may name"""


class NewKey(Model):
    """A key with its secret, which is shown only once."""

    id: str
    name: str
    person: str = ""
    """the owner of the key: all keys of a person together have one vote"""
    tenant: str
    scopes: list[Scope]
    created_at: datetime | None
    created_by: str
    """the name of the key that made it"""
    created_by_key: str = ""
    """the id of that key; empty from an older release"""
    expires_at: datetime | None = None
    """null: never"""
    revoked_at: datetime | None = None
    max_cost_usd_per_day: str | None = None
    max_tokens_per_day: int | None = None
    spent_today: SpentToday | None = None
    """only in listings"""
    last_used_at: datetime | None = None
    """only in listings; to the minute"""
    secret: str


class SandboxLayer(Model):
    """A layer of a sandbox's isolation."""

    name: str
    active: bool
    """whether it isolates runs now"""
    detail: str
    """the mechanism, or the reason for its absence"""


class PartState(Model):
    """The state of a part of a worker: its sandbox, its storage, its default model."""

    backend: str
    works: bool
    why: str | None
    """the fault; null: it works"""
    layers: list[SandboxLayer] | None = None
    """only of the sandbox"""


class ProblemKind(Model):
    """The explanation of a kind of problem."""

    type: ProblemType
    title: str
    status: int
    retryable: bool
    explanation: str


class RedisState(Model):
    """The Redis server of the job record."""

    server: str
    """Redis or Valkey"""
    version: str
    findings: list[Finding]


class Revisions(Model):
    """Number of jobs by their number of revisions; 10 means 10 or more."""

    revisions: int
    jobs: int


class RulesInForce(Model):
    """All rules in force: each rule that matches a job applies."""

    rules: list[DescribedRule]
    file: str | None
    """the path of the operator's file; null: there is none"""
    text: str
    """the rules that were set at run time; empty: none"""
    digest: str
    """its sha256, hexadecimal; empty: none"""
    changed_at: datetime | None = None
    """the last change of the text"""
    changed_by: str = ""
    """the key that made this change"""
    person: str = ""
    """the person of that key"""


class Savings(Model):
    """An estimate: the tokens of the other models at the strongest model's present price, less
    their own cost."""

    model: str
    """the strongest model of the executor's escalation"""
    usd: Decimal
    """negative if the strongest model is cheaper"""


class SignInLink(Model):
    """A link that signs a browser in, once."""

    path: str
    """a path of this API"""
    expires_seconds: int


class Stage(Model):
    """Time in a stage: `queue`, a role's model calls, `run`, `review`, `whole`."""

    stage: str
    jobs: int
    seconds: float
    mean_seconds: float


class WaitingTimes(Model):
    """How long decided reviews had waited."""

    count: int
    mean_seconds: float | None
    p50_seconds: float | None
    p90_seconds: float | None
    p95_seconds: float | None
    buckets: list[Bucket]


class Stats(Model):
    """Totals over the jobs that ended on these days."""

    now: dict[str, int]
    """jobs by their present status"""
    days: list[Day]
    reasons: dict[str, int]
    """failed jobs by reason"""
    approved_by: dict[str, int]
    """succeeded jobs: critic, person or nobody"""
    success: dict[str, int]
    """succeeded jobs by their way: see `days`"""
    revisions: list[Revisions]
    runs: dict[str, int]
    """runs by their outcome"""
    failures: list[FailureClass]
    """failed runs by class"""
    models: list[ModelSpend]
    """by model, over all days"""
    cost: list[ModelDay]
    """by day and model"""
    waits: WaitingTimes
    decisions: dict[str, int]
    """decisions by their action"""
    stages: list[Stage]
    """time by stage"""
    difficulties: list[DifficultyRow] = []
    """by difficulty"""
    exercises: Exercises = Field(
        default_factory=lambda: Exercises.model_validate({"jobs": 0, "cost_usd": "0"})
    )
    """of benchmarks"""
    savings: Savings | None = None
    """null: no escalation, or an unknown price"""


class WorkerRepositories(Model):
    """Whether jobs on repositories work, and the hosts that a worker may use for them."""

    git: str | None = None
    """the version of git"""
    works: bool | None = None
    why: str | None = None
    """the fault; null: they work"""
    hosts: list[str] | None = None
    """repositories may be fetched from these hosts"""
    lacks: list[str] | None = None
    """hosts without a credential or a key"""
    delivers: list[str] | None = None
    """approved changes may be pushed to these hosts"""
    setups: list[str] | None = None
    """dependencies may be installed from these hosts"""


class WorkerModels(Model):
    """The models of a worker; GET /models has more of them."""

    default: str | None = None
    """`provider:model`, with stand-ins after commas"""
    keys: list[str] | None = None
    """the providers that have a key"""
    recordings: list[str] | None = None
    """names of recordings that can be played"""


class WorkerModelServer(Model):
    """The server of a model, as a worker knows it."""

    context_tokens: int | None = None
    """tokens of a request with its reply, at most; null: not known"""
    error: str | None = None
    """the reason, with advice, if no server answers at the model's address"""


class WorkerFleet(Model):
    """The version of the fleet's record, and the worker's own values that differ from it."""

    version: int | None = None
    ignored: dict[str, float] | None = None
    """by setting"""


class Worker(Model):
    """A worker's last announcement. A worker of an older release announces fewer fields."""

    id: str
    host: str
    version: str
    release: str | None
    """its version, and a digest of its code. If it differs from the API's `release`, the worker
    runs other code. null: its release does not report it"""
    seen_at: datetime
    seen_seconds: float
    """seconds since then"""
    busy: int | None = None
    """jobs that it holds"""
    slots: int | None = None
    """jobs that it can hold"""
    tools: list[str] | None = None
    """the tools of the executor"""
    dropped_variables: list[str] | None = None
    """variables of libraries that Fettle dropped"""
    blob_grace_seconds: float | None = None
    """see FETTLE_BLOB_GRACE_SECONDS"""
    workspace_bytes: int | None = None
    """see FETTLE_WORKSPACE_BYTES"""
    sandbox: PartState | None = None
    storage: PartState | None = None
    default_model: PartState | None = None
    repositories: WorkerRepositories | None = None
    models: WorkerModels | None = None
    model_servers: dict[str, WorkerModelServer] | None = None
    """by the names of the models that it has used or uses by default"""
    fleet: WorkerFleet | None = None


class Undelivered(Model):
    """Undelivered webhook messages."""

    dead: int
    """not tried any more; see GET /webhook-deliveries"""
    waiting: int
    """tried again later"""
    oldest_seconds: float
    """age of the oldest waiting message; 0 without one"""


class System(Model):
    """The deployment's state. Null fields are shown only to the operator."""

    version: str
    release: str = ""
    """of the API: its version, and a digest of its code"""
    environment: Literal["development", "production"] | str
    serving: bool
    """whether a worker was seen lately"""
    redis: RedisState | None = None
    workers: list[Worker] | None = None
    jobs: dict[str, int]
    """jobs by status: your tenant's; for the operator those of all tenants"""
    queue: dict[str, int] | None = None
    """waiting jobs by priority"""
    webhooks: Undelivered | None = None
    models: list[str]
    """the allow-list"""
    limits: Limits


Table = (
    Literal["days", "cost", "revisions", "failures", "reasons", "waits", "stages", "difficulties"]
    | str
)
"""The tables that can be exported as CSV."""


class Tenant(Model):
    """A tenant and the daily spending limits of all its jobs: see DayLimits."""

    name: str
    max_cost_usd_per_day: str | None = None
    max_tokens_per_day: int | None = None
    spent_today: SpentToday | None = None
    """if a limit applies"""


class TenantList(Model):
    """Tenants by name."""

    tenants: list[Tenant]


class Webhook(Model):
    """An address that gets the messages about a tenant's jobs."""

    id: str
    address: str
    """without its path, which may be a secret"""
    format: str
    labels: list[str]
    events: list[str]
    secret: str | None = None
    """signs the messages; only when it was created"""


class WebhookDelivery(Model):
    """An undelivered message."""

    id: str
    """the header webhook-id, the same at every try"""
    type: str
    webhook: str = ""
    """the tenant's webhook; empty: the operator's"""
    tenant: str
    job_id: str
    at: datetime
    tries: int
    error: str
    """the reason for which the last try failed"""
    due_at: datetime | None
    """the time of the next try; of a dead one, its end"""
    data: dict[str, Any]


class WebhookDeliveryList(Model):
    """Waiting messages, the next first, and dead ones, the newest first; 100 of each."""

    waiting: list[WebhookDelivery]
    waiting_total: int
    dead: list[WebhookDelivery]
    dead_total: int


class WebhookList(Model):
    """The webhooks of a tenant."""

    webhooks: list[Webhook]


class OrderedStep(TypedDict):
    """A step of your own plan, with the steps that it needs."""

    text: str
    after: NotRequired[list[int] | None]
    """the numbers (from 1) of the earlier steps that it needs; empty: none. Else it needs all
    earlier steps"""


class KeptFile(TypedDict):
    """Bytes that the service has already, because a job of your tenant has them."""

    digest: str
    """sha256, hexadecimal"""
    job_id: str
    """a job that started with them, or has them now"""


class RepoRequest(TypedDict):
    """The git repository that the work starts from: a `url`, or a bundle of another job, or the
    part `bundle` of the form."""

    url: NotRequired[str | None]
    """https:// or ssh://, of a host that the operator allows; without a password. git@HOST:PATH
    is taken as ssh://git@HOST/PATH"""
    ref: NotRequired[str | None]
    """a branch, a tag or a commit; else HEAD"""
    bundle: NotRequired[KeptFile | None]
    """the bundle that another job of your tenant started from"""


class DeliverRequest(TypedDict):
    """What becomes of an approved change in the repository that it was fetched from."""

    branch: NotRequired[bool]
    """push it as the branch `fettle/ID`"""
    pull_request: NotRequired[bool]
    """open a pull request from that branch (GitLab: a merge request)"""


class CaseRequest(TypedDict):
    """A program to start over a copy of the workspace, and its expected outcome."""

    argv: list[str]
    """the program and its arguments; no shell runs it"""
    name: NotRequired[str | None]
    """its name in reports; else its number"""
    stdin: NotRequired[str]
    """the program's input"""
    files: NotRequired[dict[str, str]]
    """text files that are added to the copy first, by relative path"""
    exit_code: NotRequired[int]
    """the expected exit code"""
    stdout: NotRequired[str | None]
    """the exact expected output"""
    stdout_matches: NotRequired[str | None]
    """a Python regular expression that the whole output must match; `.` also matches line ends.
    An invalid one is an `error` of the case"""
    expect_files: NotRequired[dict[str, str]]
    """the exact expected contents of files, by relative path"""


class ChecksRequest(TypedDict):
    """Acceptance checks. Each runs over a copy of the workspace, never in it."""

    files: NotRequired[dict[str, str]]
    """test files and their data, by relative path"""
    command: NotRequired[str | None]
    """null, `pytest ...` and `python -m unittest ...` are judged by pytest's report of each
    test, any other command by its exit code. No shell runs it"""
    cases: NotRequired[list[CaseRequest]]
    """programs to start; their output and files are compared outside the sandbox"""


class JobOptions(TypedDict):
    """The fields of a job that are optional, as arguments of `Client.submit`."""

    model: NotRequired[str | None]
    """provider:model from the operator's allow-list, or auto: chosen by the task's difficulty;
    else the worker's default"""
    timeout_seconds: NotRequired[int | None]
    """limit of the running time, without waiting for a person"""
    run_seconds: NotRequired[int | None]
    """limit of the time of one run of code; the limit of its processor time moves with it. Else
    the worker's setting"""
    run_memory_bytes: NotRequired[int | None]
    """limit of the memory of one run of code; else the worker's setting"""
    image: NotRequired[str | None]
    """the image of its sandboxes, from the operator's list, where the sandbox is Docker; else
    the worker's own"""
    max_steps: NotRequired[int | None]
    """limit of the executor's model calls in one revision, or in one of its parallel steps; else
    the worker's setting"""
    max_cost_usd: NotRequired[str | float | None]
    """limit of the job's spending on models, in US dollars, such as 0.25; else the operator's
    limit"""
    max_tokens: NotRequired[int | None]
    """limit of the tokens of its model calls; else the operator's limit"""
    approvals: NotRequired[int | None]
    """approvals that a review takes, 1 or 2. Two are by different people, and your own does not
    count; else the operator's setting"""
    pause: NotRequired[Pause | None]
    """when a reviewed job pauses: before_critic, when the executor has ended; every_run: also
    after each reply of the model whose code was run"""
    review_expires_seconds: NotRequired[int | None]
    """seconds until a review expires; else never"""
    on_expiry: NotRequired[OnExpiry | None]
    """the outcome of an expired review: approve (only with a successful run, and one approval),
    reject, or stay open; else the operator's setting"""
    review_remind_seconds: NotRequired[int | None]
    """seconds until a reminder of an open review, by an event and the operator's webhook"""
    review_escalate_seconds: NotRequired[int | None]
    """seconds until an open review is escalated"""
    setup: NotRequired[str | None]
    """the shell command that installs the repository's dependencies, once for all jobs on the
    same commit, such as `pip install -e .[test]`; empty: nothing is installed. Else the
    repository's own files suggest one"""
    review: NotRequired[bool]
    """ask a person before the critic decides"""
    steps: NotRequired[list[str | OrderedStep]]
    """your own plan, in place of the planner's: at most 20 texts, or {text, after}. With
    `parallel`, steps that do not need each other run at the same time; else the steps run in the
    order of the list"""
    repo: NotRequired[RepoRequest | None]
    """the git repository that the work starts from; `files` lie over it, and the result is a
    patch"""
    deliver: NotRequired[DeliverRequest | None]
    """push the change to the repository's url when it is approved, to a host that the operator
    lists for it"""
    conversation_id: NotRequired[str | None]
    """the conversation that this job continues; it runs one job at a time"""
    max_revisions: NotRequired[int]
    """the most passes executor -> critic"""
    on_exhausted: NotRequired[OnExhausted]
    """how a job without approval ends when its revisions run out, or more are of no use. `fail`:
    failed, as `unapproved`, with its best result attached; `accept`: succeeded with that result,
    shown as unapproved, unless its acceptance checks fail"""
    verify: NotRequired[list[str] | str]
    """the verification command, as words or as one command line that is split into words (no
    shell runs it). It runs over the resulting files, and again with the job's source files
    broken, where it has to fail. Else the model declares a command"""
    evidence: NotRequired[Evidence]
    """`none` lets the critic approve work that cannot be executed, such as documents; else only
    a person can approve it"""
    priority: NotRequired[Priority]
    """the order among waiting jobs"""
    labels: NotRequired[list[str]]
    """labels to find the job by"""
    record: NotRequired[bool]
    """record the model's replies, for GET /jobs/{id}/recording"""
    repair: NotRequired[bool]
    """false: the work ends with the first code that was run; the model does not fix it, and the
    critic does not send it back"""
    checks: NotRequired[ChecksRequest | None]
    """acceptance tests: the critic cannot approve while they fail. They run over a copy of the
    workspace after each revision, never in the workspace itself"""
    write_tests: NotRequired[bool]
    """have a tester write acceptance tests first, only from the task"""
    questions: NotRequired[bool]
    """let the planner ask up to three questions first, answered at /review"""
    questions_expire_seconds: NotRequired[int | None]
    """seconds until the planner's defaults count as answers; else the operator's setting
    (`FETTLE_QUESTIONS_EXPIRE_SECONDS`), or never"""
    parallel: NotRequired[bool]
    """run independent steps of the plan in parallel; their files are merged, and the executor
    resolves conflicts. Steps of your own plan need `after`"""
    benchmark: NotRequired[dict[str, Any] | None]
    """measure the model by a set of exercises, each of which is a job with the other terms of
    this request. The task is the benchmark's title"""


class JobRequest(JobOptions):
    """A coding task and its options."""

    task: str
    """the task in plain English"""
    files: NotRequired[dict[str, str | KeptFile]]
    """the workspace's first files, by relative path: their text, or the digest of bytes that
    another job has"""


class BatchRequest(TypedDict):
    """The requests of new jobs. Each is validated by itself, so that a wrong one stops no other."""

    jobs: list[JobRequest]


class CheckRequest(TypedDict):
    """The models to check."""

    models: NotRequired[list[str] | None]
    """null: all offered models"""


class ClaimRequest(TypedDict):
    """The body of POST /jobs/{id}/review/claim."""

    assignee: NotRequired[str]
    """`me`, or a person with a key that may review; empty releases the review"""


class DayLimits(TypedDict):
    """Daily (UTC) spending limits of a key's jobs, or a tenant's; null: the operator's settings."""

    max_cost_usd_per_day: NotRequired[str | float | None]
    """US dollars, such as 2.50"""
    max_tokens_per_day: NotRequired[int | None]
    """tokens of input and output together"""


class FleetValues(TypedDict):
    """Rules to change; null leaves a rule unchanged. GET /fleet has the meaning of each."""

    lease_seconds: NotRequired[float | None]
    heartbeat_seconds: NotRequired[float | None]
    overdue_seconds: NotRequired[float | None]
    sweep_seconds: NotRequired[float | None]
    retries: NotRequired[int | None]
    retry_seconds: NotRequired[float | None]
    retry_longest_seconds: NotRequired[float | None]
    retention_days: NotRequired[float | None]
    blob_grace_seconds: NotRequired[float | None]
    retention_sweep_seconds: NotRequired[float | None]


class JobDefaults(TypedDict):
    """The terms of new jobs that leave them out; null: no default."""

    model: NotRequired[str | None]
    """provider:model from the operator's allow-list, or auto: chosen by the task's difficulty;
    else the worker's default"""
    timeout_seconds: NotRequired[int | None]
    """limit of the running time, without waiting for a person"""
    run_seconds: NotRequired[int | None]
    """limit of the time of one run of code; the limit of its processor time moves with it. Else
    the worker's setting"""
    run_memory_bytes: NotRequired[int | None]
    """limit of the memory of one run of code; else the worker's setting"""
    image: NotRequired[str | None]
    """the image of its sandboxes, from the operator's list, where the sandbox is Docker; else
    the worker's own"""
    max_steps: NotRequired[int | None]
    """limit of the executor's model calls in one revision, or in one of its parallel steps; else
    the worker's setting"""
    max_cost_usd: NotRequired[str | float | None]
    """limit of the job's spending on models, in US dollars, such as 0.25; else the operator's
    limit"""
    max_tokens: NotRequired[int | None]
    """limit of the tokens of its model calls; else the operator's limit"""
    approvals: NotRequired[int | None]
    """approvals that a review takes, 1 or 2. Two are by different people, and your own does not
    count; else the operator's setting"""
    pause: NotRequired[Pause | None]
    """when a reviewed job pauses: before_critic, when the executor has ended; every_run: also
    after each reply of the model whose code was run"""
    review_expires_seconds: NotRequired[int | None]
    """seconds until a review expires; else never"""
    on_expiry: NotRequired[OnExpiry | None]
    """the outcome of an expired review: approve (only with a successful run, and one approval),
    reject, or stay open; else the operator's setting"""
    review_remind_seconds: NotRequired[int | None]
    """seconds until a reminder of an open review, by an event and the operator's webhook"""
    review_escalate_seconds: NotRequired[int | None]
    """seconds until an open review is escalated"""
    planner_model: NotRequired[list[str] | None]
    """models of the planner, from the operator's allow-list: the next one is called if one is
    unavailable; else the default model, or the worker's setting"""
    executor_model: NotRequired[list[str] | None]
    """models of the executor, from the operator's allow-list: the next one is called if one is
    unavailable; else the default model, or the worker's setting"""
    critic_model: NotRequired[list[str] | None]
    """models of the critic, from the operator's allow-list: the next one is called if one is
    unavailable; else the default model, or the worker's setting"""
    tester_model: NotRequired[list[str] | None]
    """models of the tester, from the operator's allow-list: the next one is called if one is
    unavailable; else the default model, or the worker's setting"""
    summary_model: NotRequired[list[str] | None]
    """models of the summary, from the operator's allow-list: the next one is called if one is
    unavailable; else the default model, or the worker's setting"""
    router_model: NotRequired[list[str] | None]
    """models of the router, from the operator's allow-list: the next one is called if one is
    unavailable; else the default model, or the worker's setting"""
    review: NotRequired[bool | None]
    """ask a person before the critic decides"""
    labels: NotRequired[list[str] | None]
    """labels to find the job by; webhooks and review rules select jobs by them"""


class FleetRequest(TypedDict):
    """The body of PUT /fleet."""

    version: int
    """the version that the change is based on; 0: none"""
    settings: NotRequired[FleetValues]
    defaults: NotRequired[JobDefaults | None]
    """changes of the defaults for new jobs; a null removes a default"""
    accept_removal: NotRequired[int]
    """finished jobs that the change may remove at once, at most"""


class ForkRequest(TypedDict):
    """What is different in the fork of a job. A field that is not sent does not change; a term
    that is null is the operator's default."""

    model: NotRequired[str | None]
    """provider:model from the operator's allow-list, or auto: chosen by the task's difficulty;
    else the worker's default"""
    timeout_seconds: NotRequired[int | None]
    """limit of the running time, without waiting for a person"""
    run_seconds: NotRequired[int | None]
    """limit of the time of one run of code; the limit of its processor time moves with it. Else
    the worker's setting"""
    run_memory_bytes: NotRequired[int | None]
    """limit of the memory of one run of code; else the worker's setting"""
    image: NotRequired[str | None]
    """the image of its sandboxes, from the operator's list, where the sandbox is Docker; else
    the worker's own"""
    max_steps: NotRequired[int | None]
    """limit of the executor's model calls in one revision, or in one of its parallel steps; else
    the worker's setting"""
    max_cost_usd: NotRequired[str | float | None]
    """limit of the job's spending on models, in US dollars, such as 0.25; else the operator's
    limit"""
    max_tokens: NotRequired[int | None]
    """limit of the tokens of its model calls; else the operator's limit"""
    approvals: NotRequired[int | None]
    """approvals that a review takes, 1 or 2. Two are by different people, and your own does not
    count; else the operator's setting"""
    pause: NotRequired[Pause | None]
    """when a reviewed job pauses: before_critic, when the executor has ended; every_run: also
    after each reply of the model whose code was run"""
    review_expires_seconds: NotRequired[int | None]
    """seconds until a review expires; else never"""
    on_expiry: NotRequired[OnExpiry | None]
    """the outcome of an expired review: approve (only with a successful run, and one approval),
    reject, or stay open; else the operator's setting"""
    review_remind_seconds: NotRequired[int | None]
    """seconds until a reminder of an open review, by an event and the operator's webhook"""
    review_escalate_seconds: NotRequired[int | None]
    """seconds until an open review is escalated"""
    setup: NotRequired[str | None]
    """the shell command that installs the repository's dependencies, once for all jobs on the
    same commit, such as `pip install -e .[test]`; empty: nothing is installed. Else the
    repository's own files suggest one"""
    review: NotRequired[bool]
    """ask a person before the critic decides"""
    revision: NotRequired[int | None]
    """start from the files that this revision left; else from the files that the original
    started from"""
    prompt: NotRequired[str | None]
    """the task, in place of the original's task and of its `steps`"""
    checks: NotRequired[ChecksRequest | None]
    """acceptance tests, in place of the original's"""


class KeyRequest(TypedDict):
    """The body of POST /keys. Only the operator sets limits."""

    max_cost_usd_per_day: NotRequired[str | float | None]
    """US dollars, such as 2.50"""
    max_tokens_per_day: NotRequired[int | None]
    """tokens of input and output together"""
    name: str
    """signs decisions; unique among keys that are not revoked"""
    person: NotRequired[str | None]
    """the owner of the key, forever; else a person with the key's name"""
    scopes: list[Scope]
    tenant: NotRequired[str | None]
    """the key's tenant; else that of your key"""
    expires_days: NotRequired[int | None]
    """else it never expires"""


class LabelsRequest(TypedDict):
    """The labels of a job, in place of those that it has."""

    labels: list[str]


class MessageRequest(TypedDict):
    """The body of POST /jobs/{id}/messages."""

    text: str
    """a part of the task from now on"""


class RetryRequest(TypedDict):
    """What is different in the retry of a job. A field that is not sent does not change; null is
    the operator's default."""

    model: NotRequired[str | None]
    """provider:model from the operator's allow-list, or auto: chosen by the task's difficulty;
    else the worker's default"""
    timeout_seconds: NotRequired[int | None]
    """limit of the running time, without waiting for a person"""
    run_seconds: NotRequired[int | None]
    """limit of the time of one run of code; the limit of its processor time moves with it. Else
    the worker's setting"""
    run_memory_bytes: NotRequired[int | None]
    """limit of the memory of one run of code; else the worker's setting"""
    image: NotRequired[str | None]
    """the image of its sandboxes, from the operator's list, where the sandbox is Docker; else
    the worker's own"""
    max_steps: NotRequired[int | None]
    """limit of the executor's model calls in one revision, or in one of its parallel steps; else
    the worker's setting"""
    max_cost_usd: NotRequired[str | float | None]
    """limit of the job's spending on models, in US dollars, such as 0.25; else the operator's
    limit"""
    max_tokens: NotRequired[int | None]
    """limit of the tokens of its model calls; else the operator's limit"""
    approvals: NotRequired[int | None]
    """approvals that a review takes, 1 or 2. Two are by different people, and your own does not
    count; else the operator's setting"""
    pause: NotRequired[Pause | None]
    """when a reviewed job pauses: before_critic, when the executor has ended; every_run: also
    after each reply of the model whose code was run"""
    review_expires_seconds: NotRequired[int | None]
    """seconds until a review expires; else never"""
    on_expiry: NotRequired[OnExpiry | None]
    """the outcome of an expired review: approve (only with a successful run, and one approval),
    reject, or stay open; else the operator's setting"""
    review_remind_seconds: NotRequired[int | None]
    """seconds until a reminder of an open review, by an event and the operator's webhook"""
    review_escalate_seconds: NotRequired[int | None]
    """seconds until an open review is escalated"""
    setup: NotRequired[str | None]
    """the shell command that installs the repository's dependencies, once for all jobs on the
    same commit, such as `pip install -e .[test]`; empty: nothing is installed. Else the
    repository's own files suggest one"""
    review: NotRequired[bool]
    """ask a person before the critic decides"""


class SentComment(TypedDict):
    """A comment on a line of the patch."""

    path: str
    """the file, as the patch names it"""
    line: int
    side: NotRequired[Side]
    """whether `line` is the number after the change, or before it (`old`)"""
    text: str


class ReviewRequest(TypedDict):
    """The body of POST /jobs/{id}/review."""

    action: Action
    """`delegate` lets the critic decide this time, if one approval is enough; `withdraw` takes
    back your approval as long as the second is missing"""
    feedback: NotRequired[str]
    """required by reject, by an override, and by revise if the work is not `paused` and there
    are no comments"""
    code: NotRequired[str]
    """of `edit`: a Python program, which runs after the files"""
    files: NotRequired[dict[str, str | None]]
    """of `edit`: the complete new text of each file, by path; null removes the file. An edit
    needs `files`, `code`, or a comment with a suggestion"""
    review_id: NotRequired[str | None]
    """the review to decide on; 409 if another is open"""
    digest: NotRequired[str | None]
    """the `digest` of the review that you read; 409 if it is not the open one's"""
    answers: NotRequired[list[str]]
    """of `answer`: one for each question, in their order; a blank or missing one takes the
    default"""
    override: NotRequired[bool]
    """of `approve`: approve although the review's `verdict` has `needs_override`; otherwise such
    an approval is a 409. Recorded as an override only in this case"""
    comments: NotRequired[list[SentComment]]
    """of `revise` and `edit`: on lines of the patch that this review shows. An edit replaces the
    line of a comment that has a fenced block `suggestion`"""


class ReviewRulesRequest(TypedDict):
    """The body of PUT /review-rules."""

    text: str | None
    """the rules that are added to those of the file, as TOML in the form of the file
    (FETTLE_REVIEW_POLICY), in place of the present text; null or empty: none"""
    digest: str | None
    """the digest of the present text, on which the change is based; null or empty: there is none"""
    dry_run: NotRequired[bool]
    """check the text and describe it; change nothing"""


class VerificationRequest(TypedDict):
    """The body of POST /verifications."""

    job_id: NotRequired[str | None]
    """the job whose present workspace is the base"""
    files: NotRequired[dict[str, str]]
    """text files that are added to the base, by relative path"""
    checks: ChecksRequest
    timeout_seconds: NotRequired[int | None]
    """limit of the running time"""
    priority: NotRequired[Priority]
    """the order among waiting jobs"""
    labels: NotRequired[list[str]]
    """labels to find the verification by"""


class WebhookRequest(TypedDict):
    """The body of POST /tenants/{tenant}/webhooks."""

    url: str
    """on the web; for the format `email`, mailto:NAME@HOST"""
    format: NotRequired[Literal["generic", "slack", "teams", "email"] | str]
    labels: NotRequired[list[str]]
    """only jobs with one of these labels; empty: all"""
    events: NotRequired[
        list[
            Literal[
                "review.opened",
                "review.reminded",
                "review.escalated",
                "review.expired",
                "review.approved",
                "review.withdrawn",
                "review.decided",
                "job.finished",
                "audit.head",
            ]
            | str
        ]
    ]
    """the types of messages; empty: all"""


EventKind = (
    Literal[
        "submitted",
        "message_added",
        "started",
        "fetch_started",
        "files_missing",
        "setup_left_out",
        "setup_started",
        "setup_finished",
        "review_opened",
        "review_reminded",
        "review_escalated",
        "review_assigned",
        "review_expired",
        "voted",
        "vote_withdrawn",
        "decided",
        "begun_anew",
        "given_back",
        "lease_lost",
        "succeeded",
        "failed",
        "cancelled",
        "routed",
        "asked",
        "tests_written",
        "planned",
        "messages_read",
        "model_called",
        "run_finished",
        "repaired",
        "tool_used",
        "answered",
        "step_started",
        "step_finished",
        "merged",
        "checked",
        "verified",
        "critiqued",
        "summarized",
        "delivered",
        "benchmark_started",
        "exercise_finished",
    ]
    | str
)


EVENTS: TypeAdapter[Event] = TypeAdapter(Event, config={"defer_build": True})
"""Reads an event from its JSON text or object."""
