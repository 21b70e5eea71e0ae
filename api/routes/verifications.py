"""Verifications: checks that are run over given files, without an agent."""

from __future__ import annotations

import structlog
from fastapi import APIRouter, Request, Response

from api import problems
from api.auth.caller import Submitter
from api.http import body
from api.openapi import body_responses, makes_job, with_body
from api.refusals import from_refusal
from api.schemas.checks import VerificationRequest
from api.schemas.job import JobReceipt
from api.services import ServicesDep, find_job
from api.submission import checks, job_requests, verification_requests
from api.submission.new_jobs import replayed
from api.submission.receipts import IdempotencyKey, submitted_answer
from jobs.store import Idempotency
from jobs.store.blob_index import PinnedBlobs
from jobs.transitions.lifecycle import Refusal

log = structlog.get_logger(__name__)
router = APIRouter(tags=["jobs"])


@router.post(
    "/verifications",
    operation_id="verify_files",
    status_code=202,
    response_model=JobReceipt,
    summary="Run checks over files",
    responses={
        **makes_job(),
        **body_responses(
            problems.NOT_FOUND, problems.KEY_REUSED, problems.QUEUE_FULL, problems.STORE_FULL
        ),
    },
    openapi_extra=with_body(VerificationRequest),
)
async def verify(
    request: Request,
    services: ServicesDep,
    caller: Submitter,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Have a worker run checks over a job's workspace, over files of the body, or both.

    The answer is a job of kind `verification`: it calls no model and changes no conversation. It
    ends `succeeded` with the report in `result.checks`, passed or not; `failed` only where the
    service itself failed.
    """
    settings = services.settings
    asked, _ = await body.read(request, VerificationRequest, settings, " as JSON")
    verification_requests.check(asked, settings)
    once = Idempotency(idempotency_key, job_requests.digest(asked)) if idempotency_key else None
    if known := await replayed(services, caller, once):
        return submitted_answer(known)
    job = (await find_job(services, caller, asked.job_id)).record if asked.job_id else None
    await services.admission.check(caller.tenant)
    saved: list[str] = []
    blobs = PinnedBlobs(services.blobs, services.store.blobs.pin, saved.append)
    base = await verification_requests.base(blobs, asked, job)
    kept = await checks.save(blobs, asked.checks)
    submitted = await services.operations.submit(
        caller.tenant,
        verification_requests.to_spec(asked, base.workspace, kept, settings),
        by=caller.name,
        key_id=caller.id,
        person=caller.person,
        request_id=request.scope["request_id"],
        idempotency=once,
        blobs=[*saved, *base.digests],
    )
    if isinstance(submitted, Refusal):
        raise from_refusal(submitted)
    log.info("verification submitted", job_id=submitted.record.id, new=submitted.new)
    return submitted_answer(submitted)
