"""Jobs in responses."""

from __future__ import annotations

from pydantic import Field

from api.schemas.checks import CheckReport
from api.schemas.fields import NextCursor, ResponseModel, Time
from api.schemas.job_result import Cost, Result
from api.schemas.job_spec import Spec
from api.schemas.job_work import Critique, Plan, Repair, Route, Run, Verification
from api.schemas.message import UserMessage
from api.schemas.review import Decision, Review
from jobs.model.event_data.model_calls import Usd
from jobs.model.event_data.reviews import EvidenceData
from jobs.model.record import Reason, Status
from jobs.model.review import ReviewKind
from jobs.model.run_data import ArtifactData
from jobs.model.spec import JobKind, Priority
from jobs.view.queueing import QueueReason


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
    batch_id: str | None = Field(None, description="the batch that it was submitted with")
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
    next: NextCursor = None


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
    batch_id: str | None = Field(None, description="the batch that it was submitted with")
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
    messages: list[UserMessage] = Field(description="the messages of persons, oldest first")
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
