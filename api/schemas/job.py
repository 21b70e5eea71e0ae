"""Jobs in responses, with their runs, their evidence and the files of their workspaces."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import Field

from api.schemas.benchmark import BenchmarkRequest, BenchmarkSummary
from api.schemas.checks import CheckReport, CheckSpec
from api.schemas.fields import ResponseModel, Time
from api.schemas.review import Decision, PastApproval, Review
from jobs.model.event_data import (
    CritiquedData,
    EvidenceData,
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
    noticed, the number of tried changes, and the unnoticed changes; null: no change was tried.
    `functions` are the changed functions that it executed, and the others; null: not measured.
    `notes` weaken the evidence, but do not prevent an approval. `own_word`: only the program itself
    verifies its result. `judged_by` is `exit_code` without a report of each test."""

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
    branch: str | None = Field(None, description="the branch that has this commit, if one does")
    root: str | None = Field(
        None, description="the commit on which the first change of the branch was made"
    )
    upload: str | None = Field(
        None, description="the digest of the git bundle that has this commit; null: by URL"
    )


class Patch(ResponseModel):
    """The change of the job in its repository; `GET /jobs/{id}/patch` has the bytes."""

    digest: str = Field(description="sha256, hexadecimal")
    size: int = Field(description="bytes")
    files: int = Field(description="changed files")
    insertions: int = Field(description="lines")
    deletions: int = Field(description="lines")
    base: str = Field(description="the commit that it applies to")
    lfs: list[str] = Field(
        description="the first changed files that Git LFS would store: the patch has their bytes "
        "instead of a pointer"
    )


class Deliver(ResponseModel):
    """The delivery of an approved change to the repository that the job was fetched from."""

    branch: bool = Field(description="push it as the branch `fettle/ID`")
    pull_request: bool = Field(description="open a pull or merge request from that branch")


class Delivery(ResponseModel):
    """The branch and the pull request in the repository that the job was fetched from."""

    branch: str | None = Field(description="null: nothing was delivered, see `note`")
    commit: str | None = Field(description="the commit that was pushed")
    pull_request: str | None = Field(description="the address of the pull or merge request")
    base: str | None = Field(description="the branch that the change is for")
    base_moved: bool = Field(
        description="whether `base` has other commits than at the start of the job"
    )
    note: str = Field(description="the reason for no delivery, or the remedy if `base` moved")


class ReviewRules(ResponseModel):
    """The operator's review rules that apply to the job, as of its submission."""

    names: list[str] = Field(description="the names of the rules")
    conditions: list[str] = Field([], description="for each rule, the condition that the job meets")
    approvers: list[list[str]] = Field(
        description="lists of persons; an approver is on each list. `CODEOWNERS` stands for the "
        "persons who own all changed files"
    )
    override: bool = Field(description="whether a person may approve against the evidence")
    remark: bool = Field(description="whether each approval needs a remark")


class Spec(ResponseModel):
    """The job's request."""

    task: str = Field(description="the task in plain English")
    review: bool = Field(description="whether a person is asked before the critic decides")
    model: str | None = Field(description="null: the worker's default")
    steps: list[str] = Field(description="the caller's plan; empty: the planner makes it")
    max_revisions: int = Field(description="the most passes executor -> critic")
    on_exhausted: OnExhausted = Field(description="how a job without approval ends")
    timeout_seconds: int = Field(description="limit of the running time")
    priority: Priority = Field(description="the order among waiting jobs")
    labels: list[str] = Field(description="labels to find the job by")
    retry_of: str | None = Field(None, description="the job that this one retries")
    fork_of: str | None = Field(None, description="the job with the files that it started from")
    review_expires_seconds: int | None = Field(
        None, description="seconds until a review expires; null: never"
    )
    on_expiry: OnExpiry = Field(OnExpiry.STAY, description="the outcome of an expired review")
    review_remind_seconds: int | None = Field(
        None, description="seconds until a reminder of an open review; null: none"
    )
    review_escalate_seconds: int | None = Field(
        None, description="seconds until an open review is escalated; null: never"
    )
    pause: Pause = Field(Pause.BEFORE_CRITIC, description="when a reviewed job pauses")
    record: bool = Field(False, description="whether the model's replies are recorded")
    approvals: int = Field(1, description="the number of approvals that a review takes")
    repair: bool = Field(True, description="whether failed code is repaired")
    max_cost_usd: Usd | None = Field(None, description="spending limit in US dollars")
    max_tokens: int | None = Field(None, description="token limit")
    kind: JobKind = Field(
        JobKind.TASK,
        description="a task for agents, a verification, a benchmark, or an exercise of a benchmark",
    )
    checks: CheckSpec | None = Field(None, description="acceptance checks")
    write_tests: bool = Field(False, description="whether a tester writes acceptance tests first")
    questions: bool = Field(False, description="whether the planner may ask questions first")
    questions_expire_seconds: int | None = Field(
        None, description="seconds until the planner's defaults count as answers; null: never"
    )
    parallel: bool = Field(False, description="whether independent steps run in parallel")
    verify: list[str] = Field(
        default_factory=list, description="the verification command; empty: the model's own"
    )
    evidence: Evidence = Field(Evidence.RUN, description="the evidence that an approval needs")
    run_seconds: int | None = Field(None, description="time limit of one run of code")
    run_memory_bytes: int | None = Field(None, description="memory limit of one run")
    max_steps: int | None = Field(None, description="limit of the model calls of one revision")
    repo: Repo | None = Field(None, description="the repository that the work starts from")
    image: str | None = Field(None, description="the image of its sandboxes")
    deliver: Deliver | None = Field(None, description="the delivery of an approved change")
    setup: str | None = Field(
        None, description="the command that installs its dependencies; null: detected; empty: none"
    )
    rebase: Rebase | None = Field(
        None, description="another job's change, which the work starts from"
    )
    review_rules: ReviewRules | None = Field(
        None, description="the operator's rules for its reviews; null: no rule applies"
    )
    role_models: dict[str, list[str]] | None = Field(
        None, description="the operator's models by role, with fallbacks; null: `model` plays all"
    )
    benchmark: BenchmarkRequest | None = Field(None, description="the measurement")


class Route(RoutedData):
    """The router's choice for a job with the model `auto`."""

    at: Time


class StepTime(ResponseModel):
    """The time of work on a step, without waits for a person or a worker."""

    started_at: Time | None = Field(description="the first start")
    seconds: float = Field(description="the finished time")
    since: Time | None = Field(
        description="the beginning of the present time, which `seconds` does not include; null: "
        "the job does not work on the step"
    )


class Plan(PlannedData):
    """The steps and their source; `progress` is the executor's report on each step, and `times` are
    the times of each step; both null without such a report."""

    progress: list[Literal["todo", "begun", "done"]] | None
    times: list[StepTime] | None
    at: Time


class Critique(CritiquedData):
    """The critic's judgement of the evidence."""

    at: Time


class Result(ResponseModel):
    """The job's result."""

    answer: str = Field(description="the model's answer")
    approved_by: str | None = Field(
        description="critic, the names of persons, or null: not approved"
    )
    override: bool = Field(
        False,
        description="a person approved although the evidence failed: no verification of the final "
        "files holds, checks did not pass, or a conflict was left",
    )
    approvals: list[PastApproval] = Field(
        default_factory=list, description="of persons: who, when, on which evidence"
    )
    artifacts: list[ArtifactData] = Field(
        default_factory=list, description="files that runs and tools made"
    )
    checks: CheckReport | None = Field(None, description="the report of the acceptance checks")
    verification: Verification | None = Field(None, description="the evidence that the files work")
    patch: Patch | None = Field(None, description="of a job on a repository: its change")
    bundle: str | None = Field(
        None, description="the digest of the change as a git bundle, see `GET /jobs/{id}/bundle`"
    )
    delivery: Delivery | None = Field(None, description="of a job that delivers its change")
    benchmark: BenchmarkSummary | None = Field(None, description="of a benchmark: its report")


class Spend(ResponseModel):
    """The cost of model calls. `cost_usd` is null if the price of a call is unknown, or if its
    usage was not reported."""

    calls: int = Field(description="the number of calls")
    input_tokens: int = Field(description="the tokens of requests, cached or not")
    cached_input_tokens: int = Field(
        0, description="the input tokens that came from the provider's cache"
    )
    output_tokens: int = Field(description="the tokens of replies")
    cost_usd: Usd | None = Field(description="null: not known")
    known_usd: Usd = Field(description="the cost of the calls with a known cost")
    unpriced_calls: int = Field(0, description="the calls with an unknown price")
    unreported_calls: int = Field(
        0, description="the calls whose usage the provider did not report"
    )


class Cost(ResponseModel):
    """The job's cost, by role and in total."""

    roles: dict[str, Spend] = Field(description="by the role of the model")
    total: Spend = Field(description="the sum over all roles")


class Life(ResponseModel):
    """The job's id, status and times (ISO 8601, UTC)."""

    id: str
    kind: JobKind = JobKind.TASK
    status: Status
    created_at: Time
    updated_at: Time
    started_at: Time | None = Field(description="the first attempt; null: not started")
    finished_at: Time | None = Field(description="the final state; null: not final")
    unapproved: bool = Field(
        False,
        description="the job has ended without approval: failed as `unapproved`, or accepted "
        "because of `on_exhausted`",
    )
    override: bool = Field(False, description="the job's approval overrode its evidence")


class Waiting(ResponseModel):
    """An open review in a listing."""

    id: str
    kind: ReviewKind
    opened_at: Time
    waiting_seconds: float = Field(description="since it was opened")
    expires_at: Time | None = Field(description="null: never")
    expired: bool = Field(description="whether it has expired, and stays open")
    assignee: str = Field("", description="the person who has claimed it; empty: no person")
    approvals: list[str] = Field(description="the authors of the approvals so far")
    approvals_needed: int = Field(description="the number of approvals that it takes")
    verdict: EvidenceData | None = Field(
        None, description="how far the evidence supports an approval; null: no review of work"
    )


class Waits(ResponseModel):
    """The reason for which a queued job waits before its next try. No worker holds the job during
    this time, which does not count as running time."""

    on: str = Field(description="the unavailable part: a provider, `the sandbox`, `storage`")
    until: Time = Field(description="the time of the next try")
    tries: int = Field(description="the failed tries in a row")
    why: str = Field(description="the last error")


class Queued(ResponseModel):
    """The reason for which no worker runs a queued job."""

    reason: QueueReason = Field(
        description="`rests`: it waits for its next try, see `waits`; `in_line`: another job of "
        "its conversation comes first (not in a listing); `no_worker`: no worker is "
        "running; `broken_workers`: no worker can take jobs; `other_release`: no worker can resume "
        "it; `busy`: all workers hold as many jobs as they can; `next`: a worker takes it within "
        "seconds"
    )
    text: str = Field(description="the reason as a sentence")
    place: int | None = Field(
        None,
        description="the place among the queued jobs of your tenant, from 1; null: it rests, or "
        "waits in line. Not in a listing. Tenants take turns",
    )


class JobSummary(Life):
    """A job in a listing."""

    task: str
    conversation_id: str
    labels: list[str]
    priority: Priority
    model: str | None = Field(description="null: the worker's default")
    submitted_by: str = Field(description="the name of the key")
    person: str = Field("", description="the person of that key")
    attempts: int = Field(description="how often a worker has claimed the job")
    open_review: str | None = Field(description="the id of the open review")
    reason: Reason | None = Field(description="the reason for which it failed")
    approved_by: str | None = Field(description="critic, the names of persons, or null")
    revisions: int = Field(0, description="as of its last pause, or its end")
    cost_usd: Usd | None = Field(None, description="null: the cost of a call is unknown")
    known_usd: Usd = "0"
    unpriced_calls: int = Field(0, description="the calls with an unknown price")
    unreported_calls: int = Field(
        0, description="the calls whose usage the provider did not report"
    )
    review: Waiting | None = Field(None, description="the open review")
    waits: Waits | None = Field(None, description="an outage, or a provider's Retry-After")
    queued: Queued | None = Field(
        None, description="of a queued job: the reason for which no worker runs it"
    )
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
    limit: int = Field(description="the size of a page")
    offset: int = Field(description="the number of jobs before this page")


class Continuation(ResponseModel):
    """The earlier change of its repository that a job started from."""

    job_id: str = Field(description="the job that made it")
    branch: str | None = Field(
        description="the branch to which a delivery adds a commit; null: a delivery makes one"
    )
    target: str = Field(description="the commit of the job's ref when the job began")
    merged: bool = Field(
        description="whether the change was merged onto the commit that the job works on; false: "
        "that commit has the change"
    )
    conflicts: list[str] = Field(description="git's message about each conflict of the merge")


class Job(Life):
    """The complete job."""

    spec: Spec
    conversation_id: str
    continues: Continuation | None = Field(
        None, description="of a rebase, and of a follow-up on a repository, once it has begun"
    )
    submitted_by: str = Field(description="the name of the key")
    person: str = Field("", description="the person of that key")
    request_id: str = Field(description="the id of the request that submitted it")
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
    reason: Reason | None = Field(description="the reason for which it failed")
    detail: str = Field(description="the reason in more words; empty if it did not fail")
    cost: Cost
    attempts: int = Field(description="how often a worker has claimed the job")
    crashes: int = Field(description="crashes of workers in a row, without progress")
    retries: int = Field(description="failed tries in a row because of unavailable services")
    waits: Waits | None = Field(None, description="an outage, or a provider's Retry-After")
    queued: Queued | None = Field(
        None, description="of a queued job: the reason for which no worker runs it"
    )
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

    path: str = Field(description="relative to the workspace")
    digest: str = Field(description="sha256, hexadecimal")
    size: int = Field(description="bytes")
    href: str = Field(description="the path of its bytes in this API")


class FileList(ResponseModel):
    """The workspace."""

    files: list[File]
    links: dict[str, str] = Field(
        description="Symbolic links: targets by path. They cannot be downloaded, and archives do "
        "not contain them, because a target may lead anywhere"
    )
    digest: str | None = Field(description="the digest of the manifest; null: no files")


class ChangedFile(ResponseModel):
    """A file that the job has changed."""

    path: str = Field(description="after the change; of a deleted file, before it")
    notes: list[str] = Field(description="changes other than those of lines, such as `new`")
    insertions: int = Field(description="lines")
    deletions: int = Field(description="lines")
    unread: str = Field(description="why its lines were not read; empty: they were")
    facts: list[str] = Field(
        description="why a reviewer should look at it: tests that are removed, skipped or "
        "weakened, test configuration, CI, lock files and their hosts, new dependencies, binaries, "
        "secrets, permissions, generated files, files outside the directories that the task names. "
        "Names and lines show them by pattern: a file without facts may still be wrong"
    )


class ChangeList(ResponseModel):
    """The change of a job's work: of the open review, else of the result, else of the present
    files."""

    since: str = Field(description="`start`, or the number of a review")
    until: str = Field(description="`now`, or the number of a review")
    patch: Patch | None = Field(description="the stored patch; null: the job has none")
    files: list[ChangedFile] = Field(description="those with facts first")
    complete: bool = Field(
        description="false: the patch is too large to be read, and `files` empty"
    )
