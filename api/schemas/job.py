"""Jobs as answers show them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from api.schemas.checks import CheckReport, CheckSpec
from api.schemas.review import Decision, Review
from api.schemas.run import Artifact, Repair, Run, Verification
from api.schemas.wire import ResponseModel, Time
from jobs.model.event_data import Verdict
from jobs.model.record import Reason, Status
from jobs.model.review import ReviewKind
from jobs.model.spec import Evidence, Kind, OnExhausted, OnExpiry, Pause, Priority


class Spec(ResponseModel):
    """What was asked."""

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
    approvals: int = Field(1, description="how many a review takes")
    repair: bool = True
    max_cost_usd: str | None = Field(None, description="the most that it may spend, in US dollars")
    max_tokens: int | None = Field(None, description="the most tokens that it may use")
    kind: Kind = Kind.TASK
    checks: CheckSpec | None = None
    write_tests: bool = False
    questions: bool = False
    questions_expire_seconds: int | None = None
    parallel: bool = False
    verify: list[str] = Field(
        default_factory=list, description="the command that proves the work; empty: the model's own"
    )
    evidence: Evidence = Evidence.RUN


class Route(ResponseModel):
    """What the router has chosen for a job that names `auto`."""

    difficulty: Literal["simple", "medium", "hard"]
    model: str | None = Field(description="null: the default")
    reason: str
    by: Literal["model", "default", "signals"]
    at: Time


class Plan(ResponseModel):
    """The steps, and whose they are: model, caller or default."""

    steps: list[str]
    source: Literal["model", "caller", "default"]
    waves: list[list[int]] | None = Field(
        None, description="numbers of the steps that go side by side, wave by wave"
    )
    note: str | None = None
    progress: list[Literal["todo", "begun", "done"]] | None = Field(
        None, description="of each step, as the executor says; null where it has said nothing"
    )
    at: Time


class Critique(ResponseModel):
    """The critic's judgement of the evidence."""

    revision: int
    verdict: Verdict
    feedback: str
    run: str | int | None = Field(None, description="the run that it rests on")
    overruled: str | None = Field(None, description="why the rules did not follow it")
    score: float | None = Field(None, description="the critic's, from 0 to 1")
    failed: list[str] = Field(default_factory=list, description="criteria that are not met")
    runs: list[str] = Field(default_factory=list, description="runs that it draws on")
    by: Literal["critic", "rules"] = Field(
        "critic", description="who decided: rules where the critic was not heard"
    )
    ends: str | None = Field(None, description="why the job ends although revisions are left")
    checks: dict[str, int] | None = Field(
        None, description="how many of the job's checks passed, and the total"
    )
    at: Time


class Result(ResponseModel):
    """What the job hands back."""

    answer: str
    approved_by: str | None = Field(
        description="critic, the name of a key, or nobody; rules: of older releases, where the "
        "critic was not heard"
    )
    override: bool = Field(
        False,
        description="a person approved although the evidence failed: no verification of the files "
        "as they are holds, checks did not pass, or copies of conflicting files were left",
    )
    artifacts: list[Artifact] = Field(default_factory=list)
    checks: CheckReport | None = Field(None, description="what the acceptance checks came to")
    verification: Verification | None = Field(
        None, description="whether the files are shown to work"
    )


class Spend(ResponseModel):
    """What calls cost. `cost_usd` is null as soon as one of them has no known price."""

    calls: int
    input_tokens: int
    cached_input_tokens: int = Field(
        0, description="those of the input tokens that came out of the provider's cache"
    )
    output_tokens: int
    cost_usd: str | None
    known_usd: str = Field(description="the sum of what has a known price")


class Cost(ResponseModel):
    """What the job cost, by role and in all."""

    roles: dict[str, Spend]
    total: Spend


class Life(ResponseModel):
    """Which job, where it is in its life, and since when (ISO 8601, UTC)."""

    id: str
    kind: Kind = Kind.TASK
    status: Status
    created_at: Time
    updated_at: Time
    started_at: Time | None
    finished_at: Time | None
    unapproved: bool = Field(
        False,
        description="it has ended without anybody's approval: failed as `unapproved`, or accepted "
        "because `on_exhausted` says so",
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


class JobSummary(Life):
    """A job in a listing."""

    task: str
    conversation_id: str
    labels: list[str]
    priority: Priority
    model: str | None
    submitted_by: str
    attempts: int
    open_review: str | None
    reason: Reason | None
    approved_by: str | None
    revisions: int = Field(0, description="as counted at its last pause, or its end")
    cost_usd: str | None = Field(None, description="null: a call has no known price")
    known_usd: str = "0"
    review: Waiting | None = Field(None, description="the open review")
    links: dict[str, str] = Field(default_factory=dict)


class JobList(ResponseModel):
    """A page of a listing."""

    jobs: list[JobSummary]
    total: int = Field(description="how many there are, or at least there are: see `total_exact`")
    total_exact: bool = Field(
        True,
        description="false: the search ended before it had counted all. There is a next page if "
        "`total` is beyond this one",
    )
    limit: int
    offset: int


class Job(Life):
    """The whole job."""

    spec: Spec
    conversation_id: str
    submitted_by: str
    request_id: str
    route: Route | None = Field(None, description="where the model is `auto`")
    plan: Plan | None
    runs: list[Run]
    repairs: list[Repair] = Field(default_factory=list)
    critique: Critique | None = Field(description="the last one")
    critiques: list[Critique]
    checks: CheckReport | None = Field(None, description="the last run of the acceptance checks")
    verification: Verification | None = Field(None, description="the last one")
    decisions: list[Decision]
    review: Review | None = Field(description="the open review")
    result: Result | None = Field(
        description="of a job that has failed: the best that there was, approved by nobody"
    )
    artifacts: list[Artifact] = Field(
        description="files that runs and tools have made, newest versions"
    )
    reason: Reason | None = Field(description="why it failed")
    detail: str
    cost: Cost
    attempts: int
    crashes: int
    retries: int
    last_event: int = Field(description="the newest event's number: follow from here")
    ran_seconds: float = Field(description="running time; waiting does not count")
    links: dict[str, str] = Field(default_factory=dict)


class JobReceipt(ResponseModel):
    """What a change has left of a job. The rest is `GET /jobs/{id}`, for keys that may read."""

    id: str
    kind: Kind
    status: Status
    version: int = Field(description="counts the job's changes")
    links: dict[str, str]
