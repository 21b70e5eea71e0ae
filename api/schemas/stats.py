"""Totals over jobs."""

from __future__ import annotations

from pydantic import Field

from api.schemas.fields import Date, ResponseModel
from jobs.model.event_data.model_calls import Usd


class Day(ResponseModel):
    """The jobs that ended on a day (UTC)."""

    day: Date
    succeeded: int
    failed: int
    cancelled: int
    straight: int = Field(description="approved, without a failed run")
    repaired: int = Field(description="approved after a failed run")
    overridden: int = Field(0, description="approved by a person against the evidence")
    unapproved: int = Field(0, description="succeeded without approval, by `on_exhausted`")
    decisions: int
    cost_usd: Usd = Field(description="of the calls with a known price")
    unpriced_calls: int
    unreported_calls: int = 0


class ModelSpend(ResponseModel):
    """A model's calls and their cost."""

    model: str
    calls: int
    unpriced_calls: int = Field(description="calls with an unknown price; no sum includes them")
    unreported_calls: int = Field(
        0, description="calls whose usage the provider did not report; no sum includes them"
    )
    input_tokens: int
    output_tokens: int
    cost_usd: Usd


class ModelDay(ModelSpend):
    """A model's calls on one day."""

    day: Date


class Revisions(ResponseModel):
    """Number of jobs by their number of revisions; 10 means 10 or more."""

    revisions: int
    jobs: int


class FailureClass(ResponseModel):
    """Number of failed runs of a class."""

    class_: str = Field(alias="class")
    runs: int


class Bucket(ResponseModel):
    """Reviews that waited up to a limit, and longer than the bucket before."""

    up_to_seconds: int | None = Field(description="null: longer than all others")
    reviews: int


class WaitingTimes(ResponseModel):
    """How long decided reviews had waited."""

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


class DifficultyRow(ResponseModel):
    """The jobs with `model: auto` of a difficulty."""

    difficulty: str = Field(description="as the router saw it: simple, medium or hard")
    jobs: int
    approved: int
    mean_cost_usd: Usd


class Savings(ResponseModel):
    """An estimate: the tokens of the other models at the strongest model's present price, less
    their own cost."""

    model: str = Field(description="the strongest model of the executor's escalation")
    usd: Usd = Field(description="negative if the strongest model is cheaper")


class Exercises(ResponseModel):
    """Exercises of benchmarks, which are in no other total."""

    jobs: int = 0
    cost_usd: Usd = Field("0", description="of the calls with a known price")


class Stats(ResponseModel):
    """Totals over the jobs that ended on these days."""

    now: dict[str, int] = Field(description="jobs by their present status")
    days: list[Day]
    reasons: dict[str, int] = Field(description="failed jobs by reason")
    approved_by: dict[str, int] = Field(description="succeeded jobs: critic, person or nobody")
    success: dict[str, int] = Field(description="succeeded jobs by their way: see `days`")
    revisions: list[Revisions]
    runs: dict[str, int] = Field(description="runs by their outcome")
    failures: list[FailureClass] = Field(description="failed runs by class")
    models: list[ModelSpend] = Field(description="by model, over all days")
    cost: list[ModelDay] = Field(description="by day and model")
    waits: WaitingTimes
    decisions: dict[str, int] = Field(description="decisions by their action")
    stages: list[Stage] = Field(description="time by stage")
    difficulties: list[DifficultyRow] = Field(default=[], description="by difficulty")
    exercises: Exercises = Field(Exercises(), description="of benchmarks")
    savings: Savings | None = Field(None, description="null: no escalation, or an unknown price")
