"""Benchmarks in requests and responses."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.schemas.fields import Dollars, RequestModel, ResponseModel

MOST_AT_ONCE = 64
MOST_REPEATS = 100


class BenchmarkRequest(RequestModel):
    """A measurement of a model by exercises with hidden tests."""

    set: str = Field(
        min_length=1,
        max_length=40,
        description="`custom`: the exercises that come with Fettle; `humaneval`, `mbpp`: the job's "
        "file is the published file; `file`: the job's file has your own exercises; `imported`: "
        "the job's file has results of `fettle bench`, and no exercise is run",
    )
    limit: int | None = Field(None, ge=1, description="only the first exercises; else all")
    repeat: int = Field(1, ge=1, le=MOST_REPEATS, description="the tries at each exercise")
    at_once: int = Field(
        4, ge=1, le=MOST_AT_ONCE, description="the most exercises that run at the same time"
    )
    budget_usd: Dollars | None = Field(
        None,
        description="no further exercise starts when the exercises have cost as much, in US "
        "dollars; else no limit",
    )


class BenchmarkRate(ResponseModel):
    """A share of passed exercises, from 0 to 1, with its 95 % interval."""

    share: float
    low: float
    high: float


class BenchmarkSummary(ResponseModel):
    """The report of a benchmark, as `fettle bench show --json` prints it."""

    set: dict[str, Any] = Field(description="{name, source, digest, exercises}")
    settings: dict[str, Any] = Field(description="{model, repair, judge, max_revisions}")
    planned: int = Field(description="the tries at exercises that were requested")
    tries: int = Field(description="the tries that have ended")
    measured: int = Field(description="the tries that count for the model")
    budget_usd: str | None = None
    first: BenchmarkRate | None = Field(description="of first attempts")
    final: BenchmarkRate | None = Field(description="of final files")
    cost_usd: str | None = Field(description="null: a price is not known")
