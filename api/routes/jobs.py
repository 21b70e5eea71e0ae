"""Jobs: submit, list, read, cancel, retry, rebase, delete.

See ADR 32.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

import structlog
from fastapi import APIRouter, Depends, Query, Request, Response

from api import problems
from api.auth.caller import Admin, Reader, Submitter
from api.http import links
from api.http.answers import IdempotencyKey, as_json, receipt, submission_receipt
from api.http.body import (
    NO_PARTS,
    FormParts,
    is_form,
    parse_json,
    read_form,
    read_json,
    read_optional_json,
)
from api.http.long_poll import MAX_WAIT_SECONDS, hold, wait_for_pause
from api.listing import CursorText, JobFilters, list_jobs, read_cursor, read_page
from api.openapi import body_responses, makes_job, responses, with_body
from api.refusals import from_refusal
from api.schemas.job import Job, JobList, JobReceipt
from api.schemas.job_request import ForkRequest, JobRequest, LabelsRequest, RetryRequest
from api.services import Services, ServicesDep, find_job, queue_state
from api.submission import new_jobs
from api.submission.job_spec import derived_digest, request_digest
from jobs.audit.entries import Actor
from jobs.blobs.directory import compute_digest
from jobs.model.codec import dump
from jobs.model.credentials import Credential
from jobs.model.events import Event
from jobs.model.record import JobRecord, Status
from jobs.store import Charge, Idempotency
from jobs.transitions.lifecycle import Refusal
from jobs.view.job import render_job
from jobs.view.queueing import FleetState
from settings.api import ApiSettings

log = structlog.get_logger(__name__)
router = APIRouter(tags=["jobs"])

JSON_ADVICE = " as JSON: send larger files as multipart/form-data"
BUNDLE_PATH = "/bundle"
NEW_JOB = (
    problems.NOT_FOUND,
    problems.KEY_REUSED,
    problems.QUEUE_FULL,
    problems.BUDGET_TAKEN,
    problems.STORE_FULL,
)
"""The problems of a request for a new job."""
MAX_QUICK_EVENTS = 50
"""A job with at most this number of events is serialized within two milliseconds; a thread
serializes a longer one."""


@router.post(
    "/jobs",
    operation_id="submit_job",
    status_code=202,
    response_model=JobReceipt,
    summary="Submit a job",
    responses={**makes_job(), **body_responses(*NEW_JOB)},
    openapi_extra=with_body(JobRequest, files=True),
)
async def submit(
    request: Request,
    services: ServicesDep,
    caller: Submitter,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Submit a job. After a 202 the job is durable.

    Files that are texts can be part of the JSON. Files of any kind are sent as
    `multipart/form-data`: the part `job` is the JSON, each part `files` is a file with its path as
    file name, and the part `bundle` is a git bundle of the repository that the work starts from.
    The body and its files have separate limits, both in `GET /system`.
    """
    settings = services.settings
    if not is_form(request):
        job, size = await read_json(request, JobRequest, settings, JSON_ADVICE)
        return await _submit(request, services, caller, job, size, idempotency_key)
    async with services.uploads.turn(caller.id):
        parts = await read_form(request, settings, settings.max_body_bytes)
        content = parts.json("job")
        job = parse_json(content, JobRequest, settings)
        return await _submit(request, services, caller, job, len(content), idempotency_key, parts)


async def _submit(
    request: Request,
    services: Services,
    caller: Credential,
    job: JobRequest,
    size: int,
    idempotency_key: str | None,
    parts: FormParts = NO_PARTS,
) -> Response:
    once = None
    if idempotency_key:
        once = Idempotency(idempotency_key, request_digest(job, await _upload_digests(parts)))
    if (submitted := await new_jobs.replay(services, caller, once)) is None:
        job, spec = await new_jobs.check(services, caller, job, size, parts)
        request_id = request.scope["request_id"]
        submitted = await new_jobs.submit(services, caller, job, spec, request_id, once, parts)
    return submission_receipt(submitted)


async def _upload_digests(parts: FormParts) -> dict[str, str]:
    """The digests of a form's files by path. No file can have the path of the bundle."""
    bundle = {BUNDLE_PATH: parts.bundle} if parts.bundle is not None else {}
    uploads = {**parts.files, **bundle}
    return {path: await compute_digest(content) for path, content in uploads.items()}


@router.get(
    "/jobs",
    operation_id="list_jobs",
    response_model=JobList,
    summary="List jobs, newest first",
    responses=responses(problems.TOO_MANY_SEARCHES, problems.SEARCHES_BUSY),
)
async def listing(
    services: ServicesDep,
    caller: Reader,
    filters: Annotated[JobFilters, Depends()],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
    cursor: CursorText = None,
) -> Response:
    """A page of your tenant's jobs; `total` counts all that match.

    A job matches all filters. `person` is the submitter: the person of a key, or the key's name.
    `model` is the model of the request, `repository` a URL, with or without its scheme. `from`
    (inclusive) and `to` bound the time of the submission. `text` searches tasks, labels and ids for
    words or their prefixes; a job matches all of them. A prefix matches at most eight words, the
    first in alphabetical order. A search with several filters, or with a period, reads a limited
    number of jobs, in their order: beyond it, `total` is a lower bound and `total_exact` is false.
    A key has a limit of concurrent searches (429).
    `waiting=me` lists the reviews that you may decide, the longest wait first. It leaves out your
    own jobs where two others have to approve them, and those that you have approved. `waiting=mine`
    lists those of them that you have claimed.
    `override=true` lists jobs with an approval that overrode their evidence. Jobs that are not
    tasks are listed by their `kind`.
    """
    after = read_cursor(cursor, offset)
    page = await read_page(services, caller, filters, limit, offset, after)
    return as_json(await list_jobs(services, page, limit, offset, after))


@router.get(
    "/jobs/{job_id}",
    operation_id="read_job",
    response_model=Job,
    summary="Read a job",
    responses=responses(problems.NOT_FOUND, problems.TOO_MANY_STREAMS, problems.STREAMS_BUSY),
)
async def read(
    job_id: str,
    request: Request,
    services: ServicesDep,
    caller: Reader,
    wait: Annotated[
        float,
        Query(ge=0, le=MAX_WAIT_SECONDS, description="seconds to wait until the job pauses"),
    ] = 0,
) -> Response:
    """The whole job: plan, runs, critiques, the open review, result, cost, times.

    With `wait`, the answer comes when the job has ended or waits for a person (`awaiting_review`):
    at once if it does so already. If the time ends before, the answer has the present state of the
    job: send the request again. A wait counts as an open event stream of the key.
    """
    loaded = await find_job(services, caller, job_id)
    if wait:
        pause = partial(wait_for_pause, services, caller, job_id, wait)
        loaded = await hold(request, services, caller, pause) or loaded
    return await job_answer(services, loaded.record, loaded.now)


@router.post(
    "/jobs/{job_id}/cancel",
    operation_id="cancel_job",
    status_code=202,
    response_model=JobReceipt,
    summary="Cancel a job",
    responses={
        200: {"model": JobReceipt, "description": "It was cancelled already"},
        **responses(problems.NOT_FOUND, problems.WRONG_STATE),
    },
)
async def cancel(job_id: str, services: ServicesDep, caller: Submitter) -> Response:
    """End a job. After this no new model call and no new run starts.

    Cancelling it again is a 200 and changes nothing. A job that has succeeded or failed is a 409.
    """
    await find_job(services, caller, job_id)
    cancelled = await services.operations.cancel(job_id, caller.name, caller.id, caller.person)
    if isinstance(cancelled, Refusal):
        loaded = await find_job(services, caller, job_id)
        if loaded.record.status is Status.CANCELLED:
            return receipt(loaded.record, 200)
        raise from_refusal(cancelled)
    log.info("job cancelled", job_id=job_id)
    return receipt(cancelled)


@router.patch(
    "/jobs/{job_id}",
    operation_id="change_job",
    response_model=JobReceipt,
    summary="Change the labels of a job",
    responses=body_responses(problems.NOT_FOUND),
    openapi_extra=with_body(LabelsRequest),
)
async def change(
    request: Request, job_id: str, services: ServicesDep, caller: Submitter
) -> Response:
    """Replace the labels of a job in any state. The audit log keeps the change. Review rules that
    applied to the job when it was submitted still apply."""
    body, _ = await read_json(request, LabelsRequest, services.settings)
    return receipt(await relabel(services, caller, job_id, lambda _: body), 200)


async def relabel(
    services: Services,
    caller: Credential,
    job_id: str,
    change: Callable[[Sequence[str]], LabelsRequest],
) -> JobRecord:
    """Replace the labels of a job by those that `change` makes of its present labels. Raises
    RefusedRequest, a 404, and the errors of `change`."""
    await find_job(services, caller, job_id)
    changed = await services.operations.relabel(
        job_id, lambda labels: list(dict.fromkeys(change(labels).labels)), Actor.of(caller)
    )
    if isinstance(changed, Refusal):
        raise from_refusal(changed)
    return changed


@router.delete(
    "/jobs/{job_id}",
    operation_id="delete_job",
    status_code=204,
    summary="Delete a job",
    response_class=Response,
    responses=responses(problems.NOT_FOUND, problems.WRONG_STATE),
)
async def delete(job_id: str, services: ServicesDep, caller: Admin) -> Response:
    """Delete a job that has ended, with its events, its decisions, its part of the conversation,
    and the state that a retry would use. Its files are deleted later; its cost stays in the totals.
    The audit log keeps who decided on which digest.

    It needs an admin key. It cannot be undone.
    """
    await find_job(services, caller, job_id)
    if (refused := await services.operations.delete(job_id, Actor.of(caller))) is not None:
        raise from_refusal(refused)
    log.info("job deleted", job_id=job_id)
    return Response(status_code=204)


@router.post(
    "/jobs/{job_id}/retry",
    operation_id="retry_job",
    status_code=202,
    response_model=JobReceipt,
    summary="Retry a job",
    responses={**makes_job(), **body_responses(*NEW_JOB, problems.WRONG_STATE)},
    openapi_extra=with_body(RetryRequest, required=False),
)
async def retry(
    request: Request,
    job_id: str,
    services: ServicesDep,
    caller: Submitter,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Make a new job, of the same conversation, that continues a failed or cancelled one.

    The body may change its limits, its model and its review. Without a body, they do not change.
    Finished model calls are not paid again. A job that ended unapproved continues from its best
    result, with all its revisions. A job that was rejected, or that no worker could read, starts
    from the beginning.
    """
    terms = await read_optional_json(request, RetryRequest(), services.settings)
    digest = derived_digest("retry", job_id, terms)
    once = Idempotency(idempotency_key, digest) if idempotency_key else None
    return submission_receipt(
        await new_jobs.replay(services, caller, once)
        or await new_jobs.retry(services, caller, job_id, terms, request.scope["request_id"], once)
    )


@router.post(
    "/jobs/{job_id}/fork",
    operation_id="fork_job",
    status_code=202,
    response_model=JobReceipt,
    summary="Run a job again",
    responses={**makes_job(), **body_responses(*NEW_JOB)},
    openapi_extra=with_body(ForkRequest, required=False),
)
async def fork(
    request: Request,
    job_id: str,
    services: ServicesDep,
    caller: Submitter,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Make a new job from a job in any state: the same request on the files that the job started
    from, with the changes in the body.

    With `revision`, the new job starts from the files that this revision left. The new job has a
    conversation of its own, and pays for its own model calls. `GET /compare` compares both.
    """
    changes = await read_optional_json(request, ForkRequest(), services.settings)
    digest = derived_digest("fork", job_id, changes)
    once = Idempotency(idempotency_key, digest) if idempotency_key else None
    return submission_receipt(
        await new_jobs.replay(services, caller, once)
        or await new_jobs.fork(services, caller, job_id, changes, request.scope["request_id"], once)
    )


@router.post(
    "/jobs/{job_id}/rebase",
    operation_id="rebase_job",
    status_code=202,
    response_model=JobReceipt,
    summary="Rebase a job's change",
    responses={**makes_job(), **responses(*NEW_JOB, problems.WRONG_STATE)},
)
async def rebase(
    request: Request,
    job_id: str,
    services: ServicesDep,
    caller: Submitter,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Make a new job, of the same conversation, that starts from the approved change of one that
    has ended, merged onto the commit that its branch is at by then.

    It has the same task and terms, and delivers a branch of its own. A job without an approved
    change is a 409, and so is a job with an uploaded repository.
    """
    once = Idempotency(idempotency_key, f"rebase of {job_id}") if idempotency_key else None
    return submission_receipt(
        await new_jobs.replay(services, caller, once)
        or await new_jobs.rebase(services, caller, job_id, request.scope["request_id"], once)
    )


async def job_answer(services: Services, record: JobRecord, now: int) -> Response:
    """The complete job as a response. Its events and charges are at least as new as the record."""
    events, charges, fleet = await asyncio.gather(
        services.store.events(record.id),
        services.store.charges(record.id),
        queue_state(services, record),
    )
    if len(events) <= MAX_QUICK_EVENTS:
        return _job_json(record, events, charges, now, fleet, services.settings)
    return await asyncio.to_thread(
        _job_json, record, events, charges, now, fleet, services.settings
    )


def _job_json(
    record: JobRecord,
    events: Sequence[Event],
    charges: Sequence[Charge],
    now: int,
    fleet: FleetState | None,
    settings: ApiSettings,
) -> Response:
    job = render_job(
        record, events, charges, now, fleet, person_delivers=settings.deliver_needs_review
    )
    linked = links.add_to_job(job)
    return Response(dump(linked), media_type="application/json")
