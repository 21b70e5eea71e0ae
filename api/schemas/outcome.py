"""Jobs beside each other: conversations and comparisons."""

from __future__ import annotations

from pydantic import Field

from api.schemas.fields import ResponseModel, Time
from api.schemas.job import Life, Spend
from jobs.model.event_data import EvidenceData
from jobs.model.record import Reason, Status


class CheckCounts(ResponseModel):
    """The acceptance tests of a job."""

    passed: int
    total: int


class Outcome(Life):
    """The outcome of a job: of its open review, else of its result."""

    conversation_id: str
    task: str
    model: str | None = Field(description="null: the worker's default")
    submitted_by: str = Field(description="the name of the key")
    person: str = Field(description="the person of that key")
    answer: str = Field(description="the model's answer; empty: none yet")
    verdict: EvidenceData | None = Field(
        description="how far the evidence supports the work; null: no work yet"
    )
    approved_by: str | None = Field(description="critic, the names of persons, or null")
    checks: CheckCounts | None = Field(description="null: it has none, or they have not run")
    runs: int
    cost: Spend
    ran_seconds: float = Field(description="running time, without waiting")
    reason: Reason | None = Field(description="the reason for which it failed")
    detail: str = Field(description="the reason in more words; empty if it did not fail")
    links: dict[str, str]


class Conversation(ResponseModel):
    """The jobs of a conversation: the newest ones, in the order of their submission."""

    id: str
    jobs: list[Outcome]
    total: int = Field(description="the number of its jobs")
    limit: int
    offset: int = Field(description="the number of newer jobs that are left out")


class ConversationSummary(ResponseModel):
    """A conversation in a listing."""

    id: str
    task: str = Field(description="the first job's")
    created_at: Time
    jobs: int = Field(description="the number of its jobs")
    last_job: str = Field(description="the id of its newest job")
    last_status: Status


class ConversationList(ResponseModel):
    """A page of conversations."""

    conversations: list[ConversationSummary]
    total: int
    limit: int
    offset: int
