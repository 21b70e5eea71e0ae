"""Batches: up to 500 jobs that are submitted, counted and cancelled together."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from api.schemas.fields import RequestModel, ResponseModel
from api.schemas.job import JobReceipt
from api.schemas.job_request import JobRequest
from api.schemas.problem import Problem
from jobs.model.event_data.model_calls import Usd
from jobs.model.record import Status

MAX_JOBS = 500
_JOB_REQUEST = WithJsonSchema({"$ref": f"#/components/schemas/{JobRequest.__name__}"})
"""The schema of a value that this model does not validate."""


class BatchRequest(RequestModel):
    """The requests of new jobs. Each is validated by itself, so that a wrong one stops no other."""

    jobs: list[Annotated[Any, _JOB_REQUEST]] = Field(min_length=1, max_length=MAX_JOBS)


class SubmittedJob(ResponseModel):
    """The answer to one request of a batch: a job or a problem."""

    index: int = Field(description="the place in `jobs` of the request, from 0")
    job: JobReceipt | None = None
    replayed: bool = Field(False, description="an earlier request with this key made the job")
    problem: Problem | None = Field(
        None, description="the reason for which there is no job, as `POST /jobs` would answer it"
    )


class BatchReceipt(ResponseModel):
    """The answers to the requests of a batch."""

    id: str
    accepted: int = Field(description="the number of requests with a job")
    retryable: int = Field(
        description="the number of requests whose problem is retryable: send the batch again"
    )
    jobs: list[SubmittedJob] = Field(description="in the order of the requests")
    links: dict[str, str]


class Batch(ResponseModel):
    """The jobs of a batch that are not removed, counted."""

    id: str
    total: int
    counts: dict[Status, int] = Field(description="the number of jobs by status")
    ended: bool = Field(description="whether all have ended")
    cost_usd: Usd | None = Field(description="so far; null: the cost of a call is unknown")
    known_usd: Usd = Field(description="the known part of the cost")
    links: dict[str, str]
