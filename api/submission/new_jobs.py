"""New jobs: from a request, and from a job that has ended (a retry, a rebase)."""

from __future__ import annotations

import structlog

from api.http.multipart import NO_PARTS, Parts
from api.refusals import from_refusal
from api.schemas.job_request import JobRequest, RetryRequest
from api.services import Services, check_conversation, find_job
from api.submission import checks, job_requests, kept_files, repositories
from api.submission.job_requests import refuse, texts
from api.submission.review_policy import approver_errors, policy
from api.submission.token_limit import check_tokens
from jobs.model.credentials import Credential
from jobs.model.record import JobRecord
from jobs.model.spec import JobSpec
from jobs.service import Submitted
from jobs.store import Idempotency
from jobs.store.blob_index import PinnedBlobs
from jobs.transitions.lifecycle import Refusal
from jobs.transitions.reviews import authors

log = structlog.get_logger(__name__)


async def replayed(
    services: Services, caller: Credential, once: Idempotency | None
) -> Submitted | None:
    """The job that this Idempotency-Key belongs to, even where the queue is full by now.

    Raises Refused: 422, where the key belongs to another request.
    """
    known = await services.operations.replayed(caller.tenant, once)
    if isinstance(known, Refusal):
        raise from_refusal(known)
    return known


async def submit(
    services: Services,
    caller: Credential,
    asked: JobRequest,
    request_id: str,
    once: Idempotency | None = None,
    sent: Parts = NO_PARTS,
) -> Submitted:
    """Submit a validated request with what was sent beside it. Raises Refused: 404, 422, 429,
    503."""
    approvals = policy(asked, services.settings)["approvals"]
    refuse(approver_errors(review=asked.review, approvals=approvals, submitter=caller.signer))
    await check_conversation(services, caller, asked.conversation_id)
    await repositories.check_follow_up(services, caller, asked.conversation_id)
    await check_tokens(services.store, asked)
    await services.admission.check(caller.tenant)
    await services.admission.check_budget(caller, job_requests.most(asked, services.settings))
    files = {**{path: text.encode() for path, text in texts(asked).items()}, **sent.files}
    size = sum(map(len, files.values())) + len(sent.bundle or b"")
    known = await kept_files.resolve(services, caller, asked, size)
    saved = [*(entry.digest for entry in known.values()), *repositories.kept(asked)]
    blobs = PinnedBlobs(services.blobs, services.store.blobs.pin, saved.append)
    workspace = await kept_files.save(blobs, files, known)
    kept = await checks.save(blobs, asked.checks) if asked.checks else None
    repo = await repositories.resolve(services, caller, asked, sent.bundle, blobs)
    submitted = await services.operations.submit(
        caller.tenant,
        job_requests.to_spec(asked, workspace, services.settings, kept, repo),
        by=caller.name,
        key_id=caller.id,
        person=caller.person,
        request_id=request_id,
        idempotency=once,
        blobs=saved,
    )
    if isinstance(submitted, Refusal):
        raise from_refusal(submitted)
    log.info("job submitted", job_id=submitted.record.id, new=submitted.new)
    return submitted


async def retry(
    services: Services,
    caller: Credential,
    job_id: str,
    asked: RetryRequest,
    request_id: str,
    once: Idempotency | None = None,
) -> Submitted:
    """Retry a job. Raises Refused: 404, 409, 422, 429, 503."""
    parent = (await find_job(services, caller, job_id)).record
    await check_tokens(services.store, asked)
    await services.admission.check(caller.tenant)
    most = job_requests.most(parent.spec, services.settings)
    await services.admission.check_budget(caller, most)
    spec = job_requests.retried(asked, parent.spec, services.settings)
    _check_approvers(spec, parent, caller)
    begun = await services.operations.retry_as_new_job(
        job_id,
        spec,
        by=caller.name,
        key_id=caller.id,
        person=caller.person,
        request_id=request_id,
        idempotency=once,
    )
    if isinstance(begun, Refusal):
        raise from_refusal(begun)
    log.info("job retried", job_id=begun.record.id, retry_of=job_id, new=begun.new)
    return begun


async def rebase(
    services: Services,
    caller: Credential,
    job_id: str,
    request_id: str,
    once: Idempotency | None = None,
) -> Submitted:
    """Rebase a job's change. Raises Refused: 404, 409, 422, 429, 503; BlobMissing."""
    parent = (await find_job(services, caller, job_id)).record
    await services.admission.check(caller.tenant)
    await services.admission.check_budget(caller, job_requests.most(parent.spec, services.settings))
    if parent.result is not None and parent.result.bundle is not None:
        await services.blobs.get(parent.result.bundle)  # or the new job could not begin
    spec = job_requests.rebased(parent.spec, services.settings)
    _check_approvers(spec, parent, caller)
    begun = await services.operations.rebase_as_new_job(
        job_id,
        spec,
        by=caller.name,
        key_id=caller.id,
        person=caller.person,
        request_id=request_id,
        idempotency=once,
    )
    if isinstance(begun, Refusal):
        raise from_refusal(begun)
    log.info("job rebased", job_id=begun.record.id, rebase_of=job_id, new=begun.new)
    return begun


def _check_approvers(spec: JobSpec, parent: JobRecord, caller: Credential) -> None:
    """Refuse a retry or a rebase that nobody could approve. Raises Refused: 422."""
    refuse(
        approver_errors(
            review=spec.review,
            approvals=spec.approvals,
            submitter=caller.signer,
            earlier=authors(parent),
        )
    )
