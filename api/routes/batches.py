"""Batches: submit, count and cancel many jobs by one request."""

from __future__ import annotations

from collections import Counter

import structlog
from fastapi import APIRouter, Request, Response

from api import problems
from api.auth.caller import Reader, Submitter
from api.http.answers import IdempotencyKey, as_json
from api.http.body import read_json
from api.openapi import body_responses, responses, with_body
from api.problems import RefusedRequest
from api.schemas.batch import MAX_JOBS, Batch, BatchReceipt, BatchRequest
from api.services import Services, ServicesDep
from api.submission.batches import cancel_jobs, submit_batch
from jobs.model.credentials import Credential
from jobs.model.record import is_job_id
from jobs.store.listing import BatchJob
from jobs.view.job import render_cost

log = structlog.get_logger(__name__)
router = APIRouter(tags=["jobs"])

FILES_ADVICE = " as JSON: send fewer jobs, or send jobs with larger files by POST /jobs"


@router.post(
    "/jobs/batch",
    operation_id="submit_batch",
    status_code=202,
    response_model=BatchReceipt,
    summary="Submit many jobs",
    responses=body_responses(),
    openapi_extra=with_body(BatchRequest),
)
async def submit(
    request: Request,
    services: ServicesDep,
    caller: Submitter,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Submit up to 500 jobs. The answer has a job or a problem for each request, in their order: a
    wrong request stops no other. A job with a receipt is durable.

    With an `Idempotency-Key`, send the same body again after an error or after retryable problems:
    the jobs that exist are not made again, and the others are. Files are texts inside the JSON, or
    files of earlier jobs by their digests; the limits of a JSON body hold for the whole batch.
    """
    async with services.uploads.turn(caller.id):
        body, _ = await read_json(
            request, BatchRequest, services.settings, FILES_ADVICE, requests=MAX_JOBS
        )
        batch_id, answers = await submit_batch(
            request, services, caller, body.jobs, idempotency_key
        )
    accepted = sum(answer.job is not None for answer in answers)
    retryable = sum(answer.problem is not None and answer.problem.retryable for answer in answers)
    log.info("batch submitted", batch_id=batch_id, accepted=accepted, jobs=len(answers))
    return as_json(
        BatchReceipt(
            id=batch_id,
            accepted=accepted,
            retryable=retryable,
            jobs=answers,
            links=_links(batch_id),
        ),
        202,
    )


@router.get(
    "/batches/{batch_id}",
    operation_id="read_batch",
    response_model=Batch,
    summary="Count the jobs of a batch",
    responses=responses(problems.NOT_FOUND),
)
async def read(batch_id: str, services: ServicesDep, caller: Reader) -> Response:
    """The number of its jobs by status, and their cost so far. `GET /jobs?batch=ID` lists them.

    A batch has the jobs that were accepted and are not removed; without any, it is a 404.
    """
    return as_json(_count(batch_id, await _find_jobs(services, caller, batch_id)))


@router.post(
    "/batches/{batch_id}/cancel",
    operation_id="cancel_batch",
    response_model=Batch,
    summary="Cancel the jobs of a batch",
    responses=responses(problems.NOT_FOUND),
)
async def cancel(batch_id: str, services: ServicesDep, caller: Submitter) -> Response:
    """Cancel all jobs of a batch that have not ended. After an error, send the request again: it
    cancels the jobs that are left."""
    jobs = await _find_jobs(services, caller, batch_id)
    await cancel_jobs(services, caller, [job.id for job in jobs if not job.status.final])
    log.info("batch cancelled", batch_id=batch_id)
    return as_json(_count(batch_id, await _find_jobs(services, caller, batch_id)))


async def _find_jobs(services: Services, caller: Credential, batch_id: str) -> list[BatchJob]:
    if not is_job_id(batch_id):
        raise RefusedRequest(problems.NOT_FOUND, "this is not the id of a batch")
    jobs = await services.store.jobs_of_batch(caller.tenant, batch_id)
    if not jobs:
        raise RefusedRequest(problems.NOT_FOUND, "no job of this batch exists")
    return jobs


def _count(batch_id: str, jobs: list[BatchJob]) -> Batch:
    cost = render_cost(charge for job in jobs for charge in job.charges)["total"]
    return Batch(
        id=batch_id,
        total=len(jobs),
        counts=Counter(job.status for job in jobs),
        ended=all(job.status.final for job in jobs),
        cost_usd=cost["cost_usd"],
        known_usd=cost["known_usd"],
        links=_links(batch_id),
    )


def _links(batch_id: str) -> dict[str, str]:
    path = f"/batches/{batch_id}"
    return {"self": path, "jobs": f"/jobs?batch={batch_id}", "cancel": f"{path}/cancel"}
