"""What jobs add up to."""

from __future__ import annotations

from pydantic import Field

from api.schemas.wire import Date, ResponseModel


class Day(ResponseModel):
    """The jobs that ended on a day (UTC)."""

    day: Date
    succeeded: int
    failed: int
    cancelled: int
    straight: int = Field(description="approved, and no run had failed")
    repaired: int = Field(description="approved after a run that had failed")
    unapproved: int = Field(0, description="succeeded, and approved by nobody: accepted as asked")
    decisions: int
    cost_usd: str = Field(description="what has a known price")
    unpriced_calls: int


class ModelSpend(ResponseModel):
    """What a model was asked, and what that cost."""

    model: str
    calls: int
    unpriced_calls: int = Field(description="calls with no known price; they are in no sum")
    input_tokens: int
    output_tokens: int
    cost_usd: str


class ModelDay(ModelSpend):
    """The same, on a day."""

    day: Date


class Revisions(ResponseModel):
    """How many jobs took so many passes of the executor; 10 stands for more, too."""

    revisions: int
    jobs: int


class FailureClass(ResponseModel):
    """How many runs failed in this way."""

    class_: str = Field(alias="class")
    runs: int


class Bucket(ResponseModel):
    """Reviews that waited up to so long, and longer than the bucket before."""

    up_to_seconds: int | None = Field(description="null: longer than all others")
    reviews: int


class Waits(ResponseModel):
    """How long reviews had waited when they were decided."""

    count: int
    mean_seconds: float | None
    p50_seconds: float | None
    p90_seconds: float | None
    p95_seconds: float | None
    buckets: list[Bucket]


class Stage(ResponseModel):
    """Time in a stage: `queue`, a role's model calls, `run`, `review`, `whole`."""

    stage: str
    jobs: int
    seconds: float
    mean_seconds: float


class Stats(ResponseModel):
    """What the jobs of some days add up to, counted as they ended."""

    now: dict[str, int] = Field(description="jobs by the state that they are in now")
    days: list[Day]
    reasons: dict[str, int] = Field(description="failed jobs by reason")
    approved_by: dict[str, int] = Field(description="succeeded ones: critic, person or nobody")
    success: dict[str, int]
    revisions: list[Revisions]
    runs: dict[str, int]
    failures: list[FailureClass]
    models: list[ModelSpend]
    cost: list[ModelDay]
    waits: Waits
    decisions: dict[str, int]
    stages: list[Stage]
