"""Verifications: a job's files, sent files, or both, run through acceptance checks."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from api import problems
from api.auth.caller import Submitter
from api.http.answers import IdempotencyKey, submission_receipt
from api.http.body import read_json
from api.openapi import body_responses, makes_job, with_body
from api.schemas.checks import VerificationRequest
from api.schemas.job import JobReceipt
from api.services import ServicesDep
from api.submission import new_jobs
from api.submission.job_spec import request_digest
from api.submission.validation import check_verification
from jobs.store import Idempotency

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
    ends `succeeded` with the report in `result.checks`, passed or not; `failed` only if the
    service itself failed.
    """
    settings = services.settings
    body, _ = await read_json(request, VerificationRequest, settings, " as JSON")
    check_verification(body, settings)
    once = Idempotency(idempotency_key, request_digest(body)) if idempotency_key else None
    return submission_receipt(
        await new_jobs.replay(services, caller, once)
        or await new_jobs.verify(services, caller, body, request.scope["request_id"], once)
    )
