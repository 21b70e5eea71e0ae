"""Messages of persons to a job that has not ended.

See ADR 103.
"""

from __future__ import annotations

import structlog
from fastapi import APIRouter, Request, Response

from api import problems
from api.auth.caller import Submitter, keys_of_same_person
from api.http.answers import IdempotencyKey, submission_receipt
from api.http.body import read_json
from api.http.field_errors import refuse
from api.openapi import body_responses, makes_job, with_body
from api.refusals import from_refusal
from api.schemas.job import JobReceipt
from api.schemas.message import MessageRequest
from api.schemas.problem import FieldError
from api.services import Services, ServicesDep, find_job
from jobs.audit.entries import Actor
from jobs.model.credentials import Credential
from jobs.service import Submission
from jobs.transitions.lifecycle import Refusal

log = structlog.get_logger(__name__)
router = APIRouter(prefix="/jobs/{job_id}/messages", tags=["jobs"])


@router.post(
    "",
    operation_id="send_message",
    status_code=202,
    response_model=JobReceipt,
    summary="Send a message to a job",
    responses={
        **makes_job(),
        **body_responses(problems.NOT_FOUND, problems.WRONG_STATE, problems.KEY_REUSED),
    },
    openapi_extra=with_body(MessageRequest),
)
async def send(
    request: Request,
    job_id: str,
    services: ServicesDep,
    caller: Submitter,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Add to the task of a job that has not ended. You become an author of its work, as its
    submitter is.

    Each model of the job reads the message before its next call. If the job waits for a review, its
    models read the message in the next pass; an approval by a person makes no further pass. If the
    job has ended, the answer is a 409 that names its conversation: submit a follow-up instead.
    """
    body, _ = await read_json(request, MessageRequest, services.settings)
    return submission_receipt(await send_message(services, caller, job_id, body, idempotency_key))


async def send_message(
    services: Services,
    caller: Credential,
    job_id: str,
    message: MessageRequest,
    idempotency_key: str | None = None,
) -> Submission:
    """Send a message to a job. Raises RefusedRequest: 404, 409, 422."""
    spec = (await find_job(services, caller, job_id)).record.spec
    if spec.review and spec.needs_other_persons and caller.signer.is_first_key:
        text = (
            "a message makes its key an author, and no key that the first key (FETTLE_API_KEY) has "
            "made may approve the work of the first key: send it with a person's key"
        )
        refuse([FieldError(field="text", message=text)])
    same_person = await keys_of_same_person(services, caller)
    sent = await services.operations.add_message(
        job_id, message.text, Actor.of(caller), idempotency_key, same_person
    )
    if isinstance(sent, Refusal):
        raise from_refusal(sent)
    log.info("message sent", job_id=job_id, new=sent.is_new)
    return sent
