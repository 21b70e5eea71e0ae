"""The body of POST /jobs."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from api.schemas import patterns
from api.schemas.benchmark import BenchmarkRequest
from api.schemas.checks import ChecksRequest
from api.schemas.fields import (
    DeliverRequest,
    Dollars,
    KeptFile,
    Label,
    RepoRequest,
    RequestModel,
    Verify,
)
from api.schemas.steps import Steps
from jobs.model.spec import Evidence, OnExhausted, OnExpiry, Pause, Priority
from settings.review_policy import LONGEST_REVIEW_SECONDS

Labels = Annotated[list[Label], Field(max_length=20)]

TASK_CHARACTERS = 20_000
LEAST_RUN_MEMORY = 64 * 1024 * 1024
"""In less, Python has no space for its usual libraries."""
MOST_TOKENS = 1_000_000_000_000


class CommonTerms(RequestModel):
    """Terms of a job for which the operator may set defaults."""

    model: str | None = Field(
        None,
        pattern=patterns.MODEL,
        description="provider:model from the operator's allow-list, or auto: chosen by the task's "
        "difficulty; else the worker's default",
    )
    timeout_seconds: int | None = Field(
        None, ge=1, description="limit of the running time, without waiting for a person"
    )
    run_seconds: int | None = Field(
        None,
        ge=1,
        description="limit of the time of one run of code; the limit of its processor time moves "
        "with it. Else the worker's setting",
    )
    run_memory_bytes: int | None = Field(
        None,
        ge=LEAST_RUN_MEMORY,
        description="limit of the memory of one run of code; else the worker's setting",
    )
    image: str | None = Field(
        None,
        pattern=patterns.IMAGE,
        description="the image of its sandboxes, from the operator's list, where the sandbox is "
        "Docker; else the worker's own",
    )
    max_steps: int | None = Field(
        None,
        ge=1,
        description="limit of the executor's model calls in one revision, or in one of its "
        "parallel steps; else the worker's setting",
    )
    max_cost_usd: Dollars | None = Field(
        None,
        description="limit of the job's spending on models, in US dollars, such as 0.25; else "
        "the operator's limit",
    )
    max_tokens: int | None = Field(
        None,
        ge=1,
        le=MOST_TOKENS,
        description="limit of the tokens of its model calls; else the operator's limit",
    )
    approvals: int | None = Field(
        None,
        ge=1,
        le=2,
        description="approvals that a review takes, 1 or 2. Two are by different people, and your "
        "own does not count; else the operator's setting",
    )
    pause: Pause | None = Field(
        None,
        description="when a reviewed job pauses: before_critic, when the executor has ended; "
        "every_run: also after each reply of the model whose code was run",
    )
    review_expires_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_REVIEW_SECONDS,
        description="seconds until a review expires; else never",
    )
    on_expiry: OnExpiry | None = Field(
        None,
        description="the outcome of an expired review: approve (only with a successful run, and "
        "one approval), reject, or stay open; else the operator's setting",
    )
    review_remind_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_REVIEW_SECONDS,
        description="seconds until a reminder of an open review, by an event and the operator's "
        "webhook",
    )
    review_escalate_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_REVIEW_SECONDS,
        description="seconds until an open review is escalated",
    )


class Terms(CommonTerms):
    """What a job may use, and who decides about it. A retry may change these fields."""

    setup: str | None = Field(
        None,
        max_length=4_096,
        pattern=patterns.SETUP,
        description="the shell command that installs the repository's dependencies, once for all "
        "jobs on the same commit, such as `pip install -e .[test]`; empty: nothing is installed. "
        "Else the repository's own files suggest one",
    )
    review: bool = Field(False, description="ask a person before the critic decides")


class RetryRequest(Terms):
    """What is different in the retry of a job. A field that is not sent does not change; null is
    the operator's default."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"max_cost_usd": "2.50", "timeout_seconds": 1_800}]}
    )


class ForkRequest(RetryRequest):
    """What is different in the fork of a job. A field that is not sent does not change; a term that
    is null is the operator's default."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"revision": 1, "model": "groq:llama-3.3-70b-versatile"}]}
    )

    revision: int | None = Field(
        None,
        ge=1,
        description="start from the files that this revision left; else from the files that the "
        "original started from",
    )
    prompt: str | None = Field(
        None,
        min_length=1,
        max_length=TASK_CHARACTERS,
        pattern=patterns.SOME_TEXT,
        description="the task, in place of the original's task and of its `steps`",
    )
    checks: ChecksRequest | None = Field(
        None, description="acceptance tests, in place of the original's"
    )


class LabelsRequest(RequestModel):
    """The labels of a job, in place of those that it has."""

    labels: Labels


def _kind(file: object) -> str | None:
    if isinstance(file, str):
        return "text"
    return "kept" if isinstance(file, dict | KeptFile) else None


InputFile = Annotated[
    Annotated[str, Tag("text")] | Annotated[KeptFile, Tag("kept")],
    Discriminator(
        _kind,
        custom_error_type="file",
        custom_error_message="a file is its text, or {digest, job_id} of bytes that a job has",
    ),
]


class JobRequest(Terms):
    """A coding task and its options."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "task": "Write a binary search and test it on 20 numbers",
                    "review": True,
                    "labels": ["demo"],
                },
                {
                    "task": "Fix `divide` so that its test passes",
                    "model": "groq:llama-3.3-70b-versatile",
                    "files": {"divide.py": "def divide(a, b):\n    return a / b\n"},
                    "priority": "high",
                },
            ]
        }
    )

    task: str = Field(
        min_length=1,
        max_length=TASK_CHARACTERS,
        pattern=patterns.SOME_TEXT,
        description="the task in plain English",
    )
    steps: Steps = Field(
        default_factory=list,
        description="your own plan, in place of the planner's: at most 20 texts, or {text, after}. "
        "With `parallel`, steps that do not need each other run at the same time; else the steps "
        "run in the order of the list",
    )
    files: dict[str, InputFile] = Field(
        default_factory=dict,
        description="the workspace's first files, by relative path: their text, or the digest of "
        "bytes that another job has",
    )
    repo: RepoRequest | None = Field(
        None,
        description="the git repository that the work starts from; `files` lie over it, and the "
        "result is a patch",
    )
    deliver: DeliverRequest | None = Field(
        None,
        description="push the change to the repository's url when it is approved, to a host that "
        "the operator lists for it",
    )
    conversation_id: str | None = Field(
        None,
        pattern=patterns.CONVERSATION,
        description="the conversation that this job continues; it runs one job at a time",
    )
    max_revisions: int = Field(3, ge=0, le=20, description="the most passes executor -> critic")
    on_exhausted: OnExhausted = Field(
        OnExhausted.FAIL,
        description="how a job without approval ends when its revisions run out, or more are of "
        "no use. `fail`: failed, as `unapproved`, with its best result attached; "
        "`accept`: succeeded with that result, shown as unapproved, unless its acceptance checks "
        "fail",
    )
    verify: Verify = Field(
        default_factory=list,
        description="the verification command, as words or as one command line that is split into "
        "words (no shell runs it). It runs over the resulting files, and again with the job's "
        "source files broken, where it has to fail. Else the model declares a command",
    )
    evidence: Evidence = Field(
        Evidence.RUN,
        description="`none` lets the critic approve work that cannot be executed, such as "
        "documents; else only a person can approve it",
    )
    priority: Priority = Field(Priority.NORMAL, description="the order among waiting jobs")
    labels: Labels = Field(default_factory=list, description="labels to find the job by")
    record: bool = Field(
        False, description="record the model's replies, for GET /jobs/{id}/recording"
    )
    repair: bool = Field(
        True,
        description="false: the work ends with the first code that was run; the model does not "
        "fix it, and the critic does not send it back",
    )

    checks: ChecksRequest | None = Field(
        None,
        description="acceptance tests: the critic cannot approve while they fail. They run over a "
        "copy of the workspace after each revision, never in the workspace itself",
    )
    write_tests: bool = Field(
        False, description="have a tester write acceptance tests first, only from the task"
    )
    questions: bool = Field(
        False, description="let the planner ask up to three questions first, answered at /review"
    )
    questions_expire_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_REVIEW_SECONDS,
        description="seconds until the planner's defaults count as answers; else the operator's "
        "setting (`FETTLE_QUESTIONS_EXPIRE_SECONDS`), or never",
    )

    parallel: bool = Field(
        False,
        description="run independent steps of the plan in parallel; their files are merged, and "
        "the executor resolves conflicts. Steps of your own plan need `after`",
    )

    benchmark: BenchmarkRequest | None = Field(
        None,
        description="measure the model by a set of exercises, each of which is a job with the "
        "other terms of this request. The task is the benchmark's title",
    )

    @model_validator(mode="after")
    def _expiry_needs_questions(self) -> JobRequest:
        if self.questions_expire_seconds is not None and not self.questions:
            raise PydanticCustomError(
                "needed",
                "questions_expire_seconds needs questions: true",
                {"field": "questions_expire_seconds"},
            )
        return self
