"""The body of POST /jobs."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from api.schemas import patterns
from api.schemas.checks import ChecksRequest
from api.schemas.fields import Label, Verify
from api.schemas.wire import RequestModel
from jobs.model.spec import Evidence, OnExhausted, OnExpiry, Pause, Priority

Step = Annotated[str, Field(min_length=1, max_length=2_000)]

TASK_CHARACTERS = 20_000
LONGEST_REVIEW_SECONDS = 366 * 24 * 3600
MOST_TOKENS = 1_000_000_000_000


class JobRequest(RequestModel):
    """A coding task, and how it shall be worked on."""

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
        description="what shall be done, in plain words",
    )
    review: bool = Field(False, description="ask a person before the critic decides")
    model: str | None = Field(
        None,
        pattern=patterns.MODEL,
        description="provider:model from the operator's allow-list, or auto: chosen by how "
        "difficult the task looks; else the worker's default",
    )
    steps: list[Step] = Field(
        default_factory=list, max_length=20, description="a plan of your own, instead of a planner"
    )
    files: dict[str, str] = Field(
        default_factory=dict,
        description="text files that the job starts with, by relative path",
    )
    conversation_id: str | None = Field(
        None,
        pattern=patterns.CONVERSATION,
        description="the conversation this job follows up; it runs one job at a time",
    )
    max_revisions: int = Field(3, ge=0, le=20, description="passes executor -> critic, at most")
    on_exhausted: OnExhausted = Field(
        OnExhausted.FAIL,
        description="how a job ends that nobody has approved when its revisions run out, or more "
        "would bring nothing: `fail`: failed, as `unapproved`, with its best result attached; "
        "`accept`: succeeded with that result, unless its acceptance checks fail, and shown as "
        "unapproved",
    )
    verify: Verify = Field(
        default_factory=list,
        description="the command that proves the work, as words or as one command line that is "
        "split into them (no shell runs it): it is run over the files that are handed back, and "
        "again with the job's source files broken, which it has to notice. Else the model declares "
        "one",
    )
    evidence: Evidence = Field(
        Evidence.RUN,
        description="`none` lets the critic approve work that nothing can execute, such as "
        "documents; else only a person can",
    )
    review_expires_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_REVIEW_SECONDS,
        description="how long each review waits for a person; else for ever",
    )
    on_expiry: OnExpiry | None = Field(
        None,
        description="what counts then: approve (only what has a successful run, and needs one "
        "approval), reject, or stay open; else as the operator says",
    )
    review_remind_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_REVIEW_SECONDS,
        description="after how long a review that still waits is reminded of, by an event and "
        "the operator's webhook",
    )
    review_escalate_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_REVIEW_SECONDS,
        description="after how long it is escalated",
    )
    pause: Pause | None = Field(
        None,
        description="when a reviewed job asks: before_critic, when the executor has ended; "
        "every_run: also after each reply of the model whose code has run",
    )
    approvals: int | None = Field(
        None,
        ge=1,
        le=2,
        description="approvals that a review takes, 1 or 2: where two, each is another person's, "
        "and your own does not count; else as the operator says",
    )
    timeout_seconds: int | None = Field(
        None, ge=1, description="bound on the running time; waiting for a person does not count"
    )
    priority: Priority = Field(Priority.NORMAL, description="orders claims among waiting jobs")
    labels: list[Label] = Field(
        default_factory=list, max_length=20, description="words to find the job by"
    )
    max_cost_usd: str | None = Field(
        None,
        pattern=patterns.DOLLARS,
        description="the most that the job may spend on models, in US dollars, as in 0.25; else "
        "the operator's limit",
    )
    max_tokens: int | None = Field(
        None,
        ge=1,
        le=MOST_TOKENS,
        description="the most tokens that its model calls may use; else the operator's limit",
    )
    record: bool = Field(
        False, description="write down the model's side: GET /jobs/{id}/recording gives it"
    )
    repair: bool = Field(
        True,
        description="false: the work ends with the first code that has run; the model does not "
        "get to fix it, and the critic does not send it back",
    )

    checks: ChecksRequest | None = Field(
        None,
        description="acceptance tests: the critic cannot approve while they fail. They are added "
        "to a copy of the workspace after each revision, never to the workspace itself",
    )
    write_tests: bool = Field(
        False, description="have a tester write such tests first, from the task alone"
    )
    questions: bool = Field(
        False, description="let the planner ask up to three questions first; you answer at /review"
    )
    questions_expire_seconds: int | None = Field(
        None,
        ge=1,
        le=LONGEST_REVIEW_SECONDS,
        description="how long they wait; then the planner's own defaults count. Else as the "
        "operator has set (`FETTLE_QUESTIONS_EXPIRE_SECONDS`), or for ever",
    )

    parallel: bool = Field(
        False,
        description="let steps of the plan that need nothing of each other go side by side; what "
        "they leave is merged, and what conflicts goes to the executor",
    )

    @model_validator(mode="after")
    def _a_time_wants_questions(self) -> JobRequest:
        if self.questions_expire_seconds is not None and not self.questions:
            raise PydanticCustomError(
                "needed",
                "questions_expire_seconds goes with questions: true",
                {"field": "questions_expire_seconds"},
            )
        return self
