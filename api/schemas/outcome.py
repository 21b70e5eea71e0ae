"""Several jobs in one answer: conversations and comparisons."""

from __future__ import annotations

from pydantic import Field

from api.schemas.fields import ResponseModel
from api.schemas.job import JobSummary
from api.schemas.job_result import Spend
from jobs.model.event_data.reviews import EvidenceData


class CheckCounts(ResponseModel):
    """The acceptance tests of a job."""

    passed: int
    total: int


class Outcome(JobSummary):
    """A job with the outcome of its open review, else of its result."""

    answer: str = Field(description="the model's answer; empty: none yet")
    verdict: EvidenceData | None = Field(
        description="how far the evidence supports the work; null: no work yet"
    )
    checks: CheckCounts | None = Field(description="null: it has none, or they have not run")
    runs: int
    cost: Spend
    ran_seconds: float = Field(description="running time, without waiting")


class Conversation(ResponseModel):
    """The jobs of a conversation: the newest ones, in the order of their submission."""

    id: str
    jobs: list[Outcome]
    total: int = Field(description="the number of its jobs")
    limit: int
    offset: int = Field(description="the number of newer jobs that are left out")


class ComparedFile(ResponseModel):
    """A file that differs."""

    path: str
    notes: list[str] = Field(description="differences other than those of lines, such as `new`")
    diff: str = Field(description="the hunks of its difference")
    unread: str = Field(description="why its lines were not compared; empty: they were")


class Difference(ResponseModel):
    """How the files of a job differ from those of the first job."""

    job_id: str
    files: list[ComparedFile]
    problem: str = Field(description="why the files cannot be compared; empty: they were")


class Comparison(ResponseModel):
    """The outcomes of jobs, and how the files of each differ from those of the first."""

    jobs: list[Outcome]
    differences: list[Difference]
