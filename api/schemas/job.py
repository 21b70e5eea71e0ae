"""Jobs in responses, with their runs, their evidence and the files of their workspaces."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import Field

from api.schemas.checks import CheckReport, CheckSpec
from api.schemas.fields import ResponseModel, Time
from api.schemas.review import Decision, Review
from jobs.model.event_data import (
    CritiquedData,
    PlannedData,
    RepairedData,
    RoutedData,
    Usd,
    VerifiedData,
)
from jobs.model.record import Reason, Status
from jobs.model.review import ReviewKind
from jobs.model.run_data import ArtifactData, RunData
from jobs.model.spec import Evidence, JobKind, OnExhausted, OnExpiry, Pause, Priority
from jobs.view.queueing import QueueReason

Part = Literal["code", "stdout", "stderr"]


class ArtifactList(ResponseModel):
    """Files that runs and tools made, in their newest versions."""

    artifacts: list[ArtifactData]


class Verification(VerifiedData):
    """The evidence for the files after a revision or a person's edit: the command and its run, and
    each experiment on it. `strength` is the number of small changes of the code that the command
    noticed, of those that were tried, with the unnoticed changes; null: none was tried. `functions`
    are the changed functions that it executed, and those that it did not; null: not measured.
    `notes` weaken the evidence and block no approval. `own_word`: a program is verified by itself
    alone. `judged_by` is `exit_code` if there is no report of each test."""

    at: NotRequired[Time]


class Repair(RepairedData):
    """A verification that succeeded after a failed one."""

    at: Time


class Run(RunData):
    """One execution of code in the sandbox."""

    at: Time


class Repo(ResponseModel):
    """A git repository, by its URL or as a bundle that came with the job."""

    url: str | None
    ref: str | None = Field(description="a branch, a tag or a commit; null: HEAD")
    bundle: str | None = Field(description="the digest of a git bundle")


class Rebase(ResponseModel):
    """The approved change that the job carries on."""

    job_id: str = Field(description="the job that made it")
    bundle: str = Field(description="the digest of the change as a git bundle")
    base: str = Field(description="the commit that it was made on")


class Patch(ResponseModel):
    """What the job changed in its repository; `GET /jobs/{id}/patch` has the bytes."""

    digest: str = Field(description="sha256, hexadecimal")
    size: int = Field(description="bytes")
    files: int
    insertions: int = Field(description="lines")
    deletions: int = Field(description="lines")
    base: str = Field(description="the commit that it applies to")


class Deliver(ResponseModel):
    """What an approved change becomes in the repository that it was fetched from."""

    branch: bool
    pull_request: bool


class Delivery(ResponseModel):
    """What was pushed to the repository that the job was fetched from."""

    branch: str | None = Field(description="null: nothing was delivered, see `note`")
    commit: str | None
    pull_request: str | None = Field(description="the address of the pull or merge request")
    base: str | None = Field(description="the branch that the change is for")
    base_moved: bool = Field(description="`base` is no longer at the commit that the job began at")
    note: str = Field(description="why nothing was delivered, or what to do where `base` moved")


class Spec(ResponseModel):
    """The job's request."""

    task: str
    review: bool
    model: str | None
    steps: list[str]
    max_revisions: int
    on_exhausted: OnExhausted
    timeout_seconds: int
    priority: Priority
    labels: list[str]
    retry_of: str | None = Field(None, description="the job that this one retries")
    review_expires_seconds: int | None = None
    on_expiry: OnExpiry = OnExpiry.STAY
    review_remind_seconds: int | None = None
    review_escalate_seconds: int | None = None
    pause: Pause = Pause.BEFORE_CRITIC
    record: bool = False
    approvals: int = Field(1, description="the number that a review takes")
    repair: bool = True
    max_cost_usd: Usd | None = Field(None, description="spending limit in US dollars")
    max_tokens: int | None = Field(None, description="token limit")
    kind: JobKind = JobKind.TASK
    checks: CheckSpec | None = None
    write_tests: bool = False
    questions: bool = False
    questions_expire_seconds: int | None = None
    parallel: bool = False
    verify: list[str] = Field(
        default_factory=list, description="the verification command; empty: the model's own"
    )
    evidence: Evidence = Evidence.RUN
    run_seconds: int | None = Field(None, description="time limit of one run of code")
    run_memory_bytes: int | None = Field(None, description="memory limit of one run")
    max_steps: int | None = Field(None, description="limit of the model calls of one revision")
    repo: Repo | None = Field(None, description="the repository that the work starts from")
    image: str | None = Field(None, description="the image of its sandboxes")
    deliver: Deliver | None = Field(None, description="what an approved change becomes there")
    setup: str | None = Field(
        None, description="what installs its dependencies; null: detected; empty: nothing"
    )
    rebase: Rebase | None = Field(
        None, description="another job's change, which the work starts from"
    )


class Route(RoutedData):
    """The router's choice for a job with the model `auto`."""

    at: Time


class Plan(PlannedData):
    """The steps and their source; `progress` is the executor's report on each step, null without
    one."""

    progress: list[Literal["todo", "begun", "done"]] | None
    at: Time


class Critique(CritiquedData):
    """The critic's judgement of the evidence."""

    at: Time


class Result(ResponseModel):
    """The job's result."""

    answer: str
    approved_by: str | None = Field(
        description="critic, the names of persons, or null: not approved"
    )
    override: bool = Field(
        False,
        description="a person approved although the evidence failed: no verification of the final "
        "files holds, checks did not pass, or copies of conflicting files were left",
    )
    artifacts: list[ArtifactData] = Field(default_factory=list)
    checks: CheckReport | None = Field(None, description="the report of the acceptance checks")
    verification: Verification | None = Field(None, description="the evidence that the files work")
    patch: Patch | None = Field(None, description="of a job on a repository: its change")
    bundle: str | None = Field(
        None, description="the digest of the change as a git bundle, see `GET /jobs/{id}/bundle`"
    )
    delivery: Delivery | None = Field(None, description="of a job that delivers its change")


class Spend(ResponseModel):
    """The cost of model calls. `cost_usd` is null if the price of a call is unknown, or if its
    usage was not reported."""

    calls: int
    input_tokens: int
    cached_input_tokens: int = Field(
        0, description="the input tokens that came from the provider's cache"
    )
    output_tokens: int
    cost_usd: Usd | None
    known_usd: Usd = Field(description="the cost of the calls with a known cost")
    unpriced_calls: int = Field(0, description="the calls with an unknown price")
    unreported_calls: int = Field(
        0, description="the calls whose usage the provider did not report"
    )


class Cost(ResponseModel):
    """The job's cost, by role and in total."""

    roles: dict[str, Spend]
    total: Spend


class Life(ResponseModel):
    """The job's id, status and times (ISO 8601, UTC)."""

    id: str
    kind: JobKind = JobKind.TASK
    status: Status
    created_at: Time
    updated_at: Time
    started_at: Time | None
    finished_at: Time | None
    unapproved: bool = Field(
        False,
        description="the job has ended without approval: failed as `unapproved`, or accepted "
        "because of `on_exhausted`",
    )


class Waiting(ResponseModel):
    """An open review in a listing."""

    id: str
    kind: ReviewKind
    opened_at: Time
    waiting_seconds: float
    expires_at: Time | None
    expired: bool
    approvals: list[str]
    approvals_needed: int


class Waits(ResponseModel):
    """What a queued job waits for before its next try; no worker holds it meanwhile, and the time
    is no running time."""

    on: str = Field(description="a provider, `the sandbox`, `storage`")
    until: Time
    tries: int = Field(description="the failed tries in a row")
    why: str = Field(description="the last error")


class Queued(ResponseModel):
    """Why no worker is at work on a queued job."""

    reason: QueueReason = Field(
        description="`rests`: until its next try, see `waits`; `no_worker`: none is running; "
        "`broken_workers`: none can take jobs; `other_release`: none can resume it; `busy`: all "
        "have as many jobs as they can; `next`: one takes it within seconds"
    )
    text: str


class JobSummary(Life):
    """A job in a listing."""

    task: str
    conversation_id: str
    labels: list[str]
    priority: Priority
    model: str | None
    submitted_by: str = Field(description="the name of the key")
    person: str = Field("", description="the person of that key")
    attempts: int
    open_review: str | None
    reason: Reason | None
    approved_by: str | None
    revisions: int = Field(0, description="as of its last pause, or its end")
    cost_usd: Usd | None = Field(None, description="null: the cost of a call is unknown")
    known_usd: Usd = "0"
    unpriced_calls: int = Field(0, description="the calls with an unknown price")
    unreported_calls: int = Field(
        0, description="the calls whose usage the provider did not report"
    )
    review: Waiting | None = Field(None, description="the open review")
    waits: Waits | None = Field(None, description="an outage, or a provider's Retry-After")
    queued: Queued | None = Field(None, description="of a queued job: why it is not at work")
    links: dict[str, str] = Field(default_factory=dict)


class JobList(ResponseModel):
    """A page of a listing."""

    jobs: list[JobSummary]
    total: int = Field(description="the number of matches, or a lower bound: see `total_exact`")
    total_exact: bool = Field(
        True,
        description="false: the search ended before it had counted all. There is a next page if "
        "`total` exceeds this one",
    )
    limit: int
    offset: int


class Job(Life):
    """The complete job."""

    spec: Spec
    conversation_id: str
    submitted_by: str = Field(description="the name of the key")
    person: str = Field("", description="the person of that key")
    request_id: str
    route: Route | None = Field(None, description="of a job with the model `auto`")
    plan: Plan | None
    runs: list[Run]
    repairs: list[Repair] = Field(default_factory=list)
    critique: Critique | None = Field(description="the last critique")
    critiques: list[Critique]
    checks: CheckReport | None = Field(None, description="the last run of the acceptance checks")
    verification: Verification | None = Field(None, description="the last verification")
    decisions: list[Decision]
    review: Review | None = Field(description="the open review")
    result: Result | None = Field(
        description="of a failed job: its best result, which is not approved"
    )
    artifacts: list[ArtifactData] = Field(
        description="files that runs and tools made, in their newest versions"
    )
    reason: Reason | None = Field(description="why it failed")
    detail: str
    cost: Cost
    attempts: int
    crashes: int
    retries: int
    waits: Waits | None = Field(None, description="an outage, or a provider's Retry-After")
    queued: Queued | None = Field(None, description="of a queued job: why it is not at work")
    last_event: int = Field(description="the newest event's number, to follow from")
    ran_seconds: float = Field(description="running time, without waiting")
    links: dict[str, str] = Field(default_factory=dict)


class JobReceipt(ResponseModel):
    """A job after a change. `GET /jobs/{id}` has the rest, for keys that may read."""

    id: str
    kind: JobKind
    status: Status
    version: int = Field(description="the number of the job's changes")
    links: dict[str, str]


class File(ResponseModel):
    """A file of the workspace."""

    path: str
    digest: str
    size: int
    href: str


class FileList(ResponseModel):
    """The workspace."""

    files: list[File]
    links: dict[str, str] = Field(
        description="Symbolic links: targets by path. They cannot be downloaded, and archives do "
        "not have them: a target may lead anywhere"
    )
    digest: str | None
