"""New jobs: from a request, from a job that has ended (a retry, a rebase), and verifications."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace

import structlog

from api.http.body import NO_PARTS, FormParts
from api.http.field_errors import refuse
from api.refusals import from_refusal
from api.schemas.checks import VerificationRequest
from api.schemas.fields import RepoRequest
from api.schemas.job_defaults import NO_DEFAULTS, JobDefaults, parse_defaults
from api.schemas.job_request import ForkRequest, JobRequest, RetryRequest
from api.services import Services, find_job
from api.submission.admission import check_token_limit
from api.submission.benchmarks import benchmark_errors
from api.submission.follow_ups import add_inherited_values, find_newest_job
from api.submission.inputs import (
    store_checks,
    store_inputs,
    store_start_of_fork,
    store_verified_files,
)
from api.submission.job_spec import (
    fork_spec,
    rebase_spec,
    retry_spec,
    spending_limit,
    verification_spec,
)
from api.submission.review_rules import apply_rules, read_policies
from api.submission.validation import approver_errors, check_fork, check_job, check_retry
from jobs.model.credentials import Credential, Signer
from jobs.model.spec import JobSpec, Repo
from jobs.service import Submission
from jobs.store import Idempotency
from jobs.store.blob_index import PinnedBlobs
from jobs.transitions.lifecycle import Refusal, Submitter
from jobs.transitions.reviews import list_authors

log = structlog.get_logger(__name__)


class _Signature(Submitter):
    """The arguments of `jobs.service.Operations` about the submission of a new job."""

    idempotency: Idempotency | None


def _sign(
    caller: Credential, request_id: str, idempotency: Idempotency | None, batch_id: str = ""
) -> _Signature:
    return {
        "by": caller.name,
        "key_id": caller.id,
        "person": caller.person,
        "request_id": request_id,
        "batch_id": batch_id,
        "idempotency": idempotency,
    }


async def replay(
    services: Services, caller: Credential, idempotency: Idempotency | None
) -> Submission | None:
    """The job that this Idempotency-Key belongs to, even if the queue is full now.

    This only saves work. If two requests with one key arrive at the same time, the commit of the
    new job decides: the key is one of its guards (`create` in `jobs/store/records.py`).

    Raises RefusedRequest: 422, if the key belongs to another request.
    """
    replayed = await services.operations.find_submission(caller.tenant, idempotency)
    if isinstance(replayed, Refusal):
        raise from_refusal(replayed)
    return replayed


async def check(
    services: Services,
    caller: Credential,
    request: JobRequest,
    size: int,
    parts: FormParts = NO_PARTS,
) -> tuple[JobRequest, JobSpec]:
    """The valid request with all values that it inherits from its conversation, and its spec, with
    the operator's default for each term that the request leaves out (ADR 72). `size`: of the
    request's JSON. Raises RefusedRequest: 404, 422; FleetUnreadable."""
    request = await add_inherited_values(services, caller, request, parts)
    defaults = await read_defaults(services)
    spec = check_job(request, size, services.settings, parts, defaults)
    if request.benchmark is not None:
        refuse(await asyncio.to_thread(benchmark_errors, request, spec, parts))
    return request, spec


async def read_defaults(services: Services) -> JobDefaults:
    """The operator's defaults for new jobs. Raises FleetUnreadable, StoreUnavailable."""
    record = await services.store.fleet.read()
    return parse_defaults(record.rules.defaults) if record else NO_DEFAULTS


async def submit(
    services: Services,
    caller: Credential,
    request: JobRequest,
    spec: JobSpec,
    request_id: str,
    idempotency: Idempotency | None = None,
    parts: FormParts = NO_PARTS,
    batch_id: str = "",
) -> Submission:
    """Submit a valid request. `request` and `spec` are of `check`, so the spec has no inputs yet;
    `parts` are the files of the form. Raises RefusedRequest: 404, 422, 429, 503."""
    authors = await _authors_of_conversation(services, caller, request.conversation_id)
    spec = await _follow_rules(services, caller, spec, request.repo, authors)
    await check_token_limit(services.store, request)
    await _check_admission(services, caller, spec)
    spec, digests = await store_inputs(services, caller, request, spec, parts)
    signature = _sign(caller, request_id, idempotency, batch_id)
    submitted = _accepted(
        await services.operations.submit(
            caller.tenant, spec, **signature, blobs=digests, authors=authors
        )
    )
    log.info("job submitted", job_id=submitted.record.id, new=submitted.is_new)
    return submitted


async def retry(
    services: Services,
    caller: Credential,
    job_id: str,
    request: RetryRequest,
    request_id: str,
    idempotency: Idempotency | None = None,
) -> Submission:
    """Retry a job. Raises RefusedRequest: 404, 409, 422, 429, 503."""
    earlier = (await find_job(services, caller, job_id)).record
    await check_token_limit(services.store, request)
    await _check_admission(services, caller, earlier.spec)
    defaults = await read_defaults(services)
    spec = retry_spec(request, earlier.spec, services.settings, defaults)
    check_retry(request, spec, services.settings)
    spec = await _follow_rules(services, caller, spec, spec.repo, list_authors(earlier))
    signature = _sign(caller, request_id, idempotency)
    submitted = _accepted(await services.operations.retry_as_new_job(job_id, spec, **signature))
    log.info("job retried", job_id=submitted.record.id, retry_of=job_id, new=submitted.is_new)
    return submitted


async def fork(
    services: Services,
    caller: Credential,
    job_id: str,
    request: ForkRequest,
    request_id: str,
    idempotency: Idempotency | None = None,
) -> Submission:
    """Run a job again as a new job. Raises RefusedRequest: 404, 409, 422, 429, 503; BlobMissing."""
    original = (await find_job(services, caller, job_id)).record
    await check_token_limit(services.store, request)
    defaults = await read_defaults(services)
    spec = fork_spec(request, original, services.settings, defaults)
    check_fork(request, spec, services.settings)
    spec = await _follow_rules(services, caller, spec, spec.repo, list_authors(original))
    await _check_admission(services, caller, spec)
    workspace, digests = await store_start_of_fork(services, original, request.revision)
    spec = replace(spec, workspace=workspace)
    if request.checks is not None:
        blobs = PinnedBlobs(services.blobs, services.store.blobs.pin, digests.append)
        spec = replace(spec, checks=await store_checks(blobs, request.checks))
    signature = _sign(caller, request_id, idempotency)
    submitted = _accepted(
        await services.operations.fork_as_new_job(
            job_id, spec, **signature, blobs=digests, continues=original.continues
        )
    )
    log.info("job forked", job_id=submitted.record.id, fork_of=job_id, new=submitted.is_new)
    return submitted


async def rebase(
    services: Services,
    caller: Credential,
    job_id: str,
    request_id: str,
    idempotency: Idempotency | None = None,
) -> Submission:
    """Rebase a job's change. Raises RefusedRequest: 404, 409, 422, 429, 503; BlobMissing."""
    earlier = (await find_job(services, caller, job_id)).record
    await _check_admission(services, caller, earlier.spec)
    if earlier.result is not None and earlier.result.bundle is not None:
        await services.blobs.get(earlier.result.bundle)  # the new job starts from it
    spec = rebase_spec(earlier.spec, services.settings)
    spec = await _follow_rules(services, caller, spec, spec.repo, list_authors(earlier))
    signature = _sign(caller, request_id, idempotency)
    submitted = _accepted(await services.operations.rebase_as_new_job(job_id, spec, **signature))
    log.info("job rebased", job_id=submitted.record.id, rebase_of=job_id, new=submitted.is_new)
    return submitted


async def verify(
    services: Services,
    caller: Credential,
    request: VerificationRequest,
    request_id: str,
    idempotency: Idempotency | None = None,
) -> Submission:
    """Submit a valid request for a verification. Raises RefusedRequest: 404, 422, 429, 503."""
    job_id = request.job_id
    job = (await find_job(services, caller, job_id)).record if job_id else None
    await services.admission.check(caller.tenant)
    digests: list[str] = []
    blobs = PinnedBlobs(services.blobs, services.store.blobs.pin, digests.append)
    workspace, file_digests = await store_verified_files(blobs, request, job)
    checks = await store_checks(blobs, request.checks)
    earlier = job.spec if job else None
    if earlier and earlier.repo and earlier.repo.bundle:
        await services.store.blobs.pin([earlier.repo.bundle])
        digests.append(earlier.repo.bundle)
    defaults = await read_defaults(services)
    spec = verification_spec(request, earlier, workspace, checks, services.settings, defaults)
    signature = _sign(caller, request_id, idempotency)
    submitted = _accepted(
        await services.operations.submit(
            caller.tenant, spec, **signature, blobs=[*digests, *file_digests]
        )
    )
    log.info("verification submitted", job_id=submitted.record.id, new=submitted.is_new)
    return submitted


async def _authors_of_conversation(
    services: Services, caller: Credential, conversation_id: str | None
) -> tuple[Signer, ...]:
    """The authors of the newest job, which has the authors of the jobs before it. When the job is
    claimed, it gets the persons who have edited that work by then."""
    if conversation_id is None:
        return ()
    return list_authors(await find_newest_job(services, caller, conversation_id))


def _accepted(outcome: Submission | Refusal) -> Submission:
    if isinstance(outcome, Refusal):
        raise from_refusal(outcome)
    return outcome


async def _check_admission(services: Services, caller: Credential, spec: JobSpec) -> None:
    await services.admission.check(caller.tenant)
    await services.admission.check_budget(caller, spending_limit(spec, services.settings))


async def _follow_rules(
    services: Services,
    caller: Credential,
    spec: JobSpec,
    repo: RepoRequest | Repo | None,
    earlier: Collection[Signer] = (),
) -> JobSpec:
    """The spec with the operator's present review rules. `earlier` are the authors of the job that
    it continues, retries, forks or rebases. Raises RefusedRequest, a 422, if no key could approve
    the job."""
    policies = await read_policies(services)
    spec = apply_rules(spec, repo.url if repo else None, policies, caller.person)
    refuse(approver_errors(spec, caller.signer, earlier))
    return spec
