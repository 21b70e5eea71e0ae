"""A job that carries on the approved change of another one."""

from __future__ import annotations

import structlog

from api.refusals import from_refusal
from api.services import Services, find_job
from api.submission.job_requests import most
from jobs.model.credentials import Credential
from jobs.service import Submitted
from jobs.store import Idempotency
from jobs.transitions.lifecycle import Refusal

log = structlog.get_logger(__name__)


async def begin_rebase(
    services: Services,
    caller: Credential,
    job_id: str,
    request_id: str,
    once: Idempotency | None = None,
) -> Submitted:
    """Rebase a job's change. Raises Refused: 404, 409, 422, 429, 503; BlobMissing."""
    parent = (await find_job(services, caller, job_id)).record
    await services.admission.check(caller.tenant)
    await services.admission.check_budget(caller, most(parent.spec, services.settings))
    if parent.result is not None and parent.result.bundle is not None:
        await services.blobs.get(parent.result.bundle)  # or the new job could not begin
    begun = await services.operations.rebase_as_new_job(
        job_id, by=caller.name, key_id=caller.id, request_id=request_id, idempotency=once
    )
    if isinstance(begun, Refusal):
        raise from_refusal(begun)
    log.info("job rebased", job_id=begun.record.id, rebase_of=job_id, new=begun.new)
    return begun
