"""A job's request in responses."""

from __future__ import annotations

from pydantic import Field

from api.schemas.benchmark import BenchmarkRequest
from api.schemas.checks import CheckSpec
from api.schemas.fields import ResponseModel
from jobs.model.event_data.model_calls import Usd
from jobs.model.spec import Evidence, JobKind, OnExhausted, OnExpiry, Pause, Priority


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


class Deliver(ResponseModel):
    """The delivery of an approved change to the repository that the job was fetched from."""

    branch: bool = Field(description="push it as the branch `fettle/ID`")
    pull_request: bool = Field(description="open a pull or merge request from that branch")


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
    steps_after: list[list[int] | None] = Field(
        default_factory=list,
        description="for each of these steps the numbers (from 1) of the steps that it needs; "
        "null: all earlier steps. Empty: the caller named none",
    )
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
