"""Jobs: submit, list, read, cancel, retry, delete."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import structlog
from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BeforeValidator

from api import body, checks, links, problems, submission
from api.answers import as_json
from api.caller import Admin, Reader, Submitter
from api.documented import body_responses, responses, with_body
from api.refusals import from_refusal
from api.routes.found import found
from api.schemas import patterns
from api.schemas.job import Job, JobList, JobSummary
from api.schemas.job_request import JobRequest
from api.services import Services, ServicesDep
from jobs import manifest, view
from jobs.blob_index import HeldBlobs
from jobs.credentials import Credential, Scope
from jobs.errors import StoreUnavailable
from jobs.events import Event
from jobs.lifecycle import Refusal
from jobs.operations import Submitted
from jobs.record import JobRecord, Status
from jobs.spec import Kind
from jobs.store import Charge, Idempotency

log = structlog.get_logger(__name__)
router = APIRouter(tags=["jobs"])

SHORT_STORY = 50
"""Events of a job that is shown within a millisecond or two; of more a thread makes the answer."""

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=200,
        pattern=patterns.IDEMPOTENCY_KEY,
        description="makes it safe to send the same body again: the same key is the same job",
    ),
]


@router.post(
    "/jobs",
    status_code=202,
    response_model=Job,
    summary="Submit a job",
    responses=body_responses(problems.KEY_REUSED, problems.QUEUE_FULL, problems.STORE_FULL),
    openapi_extra=with_body(JobRequest),
)
async def submit(
    request: Request, house: ServicesDep, caller: Submitter, idempotency_key: IdempotencyKey = None
) -> Response:
    """Put a job on record. When this answers 202 the job is durable.

    The whole body may have as many bytes as its own limit and that of the files together; what is
    left without the files has to keep to its own (both in `GET /system`).
    """
    settings = house.settings
    most = settings.max_body_bytes + settings.max_files_bytes
    asked, size = await body.read(request, JobRequest, settings, most)
    submission.check(asked, size, settings)
    once = Idempotency(idempotency_key, submission.digest(asked)) if idempotency_key else None
    submitted = await accept(house, caller, asked, request.scope["request_id"], once)
    record = submitted.record
    headers = {"Location": f"/jobs/{record.id}"}
    if not submitted.new:
        headers["Idempotency-Replayed"] = "true"
    return await changed_answer(house, record, record.updated_at, headers)


async def accept(
    house: Services,
    caller: Credential,
    asked: JobRequest,
    request_id: str,
    once: Idempotency | None = None,
) -> Submitted:
    """Put a checked request on record. Raises Refused: 422, 429, 503."""
    await house.admission.check(caller.tenant)
    files = {path: text.encode() for path, text in asked.files.items()}
    brought: list[str] = []
    blobs = HeldBlobs(house.blobs, house.store.blobs, brought.append)
    workspace = await manifest.save(blobs, files)
    kept = await checks.save(blobs, asked.checks) if asked.checks else None
    submitted = await house.operations.submit(
        caller.tenant,
        submission.to_spec(asked, workspace, house.settings, kept),
        by=caller.name,
        key_id=caller.id,
        request_id=request_id,
        idempotency=once,
        blobs=brought,
    )
    if isinstance(submitted, Refusal):
        raise from_refusal(submitted)
    log.info("job submitted", job_id=submitted.record.id, new=submitted.new)
    return submitted


_EMPTY_IS_NONE = BeforeValidator(lambda value: value or None)
"""`?status=&label=`, as forms and templates send it, filters nothing."""


@router.get(
    "/jobs",
    response_model=JobList,
    summary="List jobs, newest first",
    responses=responses(problems.TOO_MANY_SEARCHES, problems.SEARCHES_BUSY),
)
async def listing(
    house: ServicesDep,
    caller: Reader,
    *,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
    offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
    status: Annotated[Status | None, _EMPTY_IS_NONE] = None,
    label: Annotated[str | None, Query(max_length=100), _EMPTY_IS_NONE] = None,
    text: Annotated[str | None, Query(max_length=200), _EMPTY_IS_NONE] = None,
    kind: Annotated[Kind | None, _EMPTY_IS_NONE] = None,
    waiting: Annotated[Literal["me"] | None, _EMPTY_IS_NONE] = None,
) -> Response:
    """A page of your tenant's jobs; `total` counts all that match.

    `text` finds words, or their beginnings, of tasks, labels and ids: a job that has all of them. A
    beginning stands for eight words at most, the first by their letters. Where filters meet, so
    many jobs are looked at, the newest first, and no more: `total` is then how many match at least,
    and `total_exact` is false. A few searches of a key go on at the same time; others are a 429.
    `waiting=me` lists what you may decide, the oldest first: where two others have to approve
    it, not your own work, nor what you have approved. What is no task is listed under its `kind`.
    """
    if waiting and not caller.may(Scope.REVIEW):
        return as_json(JobList(jobs=[], total=0, limit=limit, offset=offset))
    searches = text or waiting or (status and label)
    with house.searches.slot(caller.id) if searches else contextlib.nullcontext():
        page = await house.store.page(
            caller.tenant,
            limit=limit,
            offset=offset,
            status=status,
            label=label,
            text=text or "",
            kind=kind or Kind.TASK,
            waits_for=caller.person if waiting else None,
        )
    now = await house.store.now() if page.records else 0
    jobs = [
        JobSummary(
            **view.summary(record, page.charges.get(record.id, ()), now),
            links={"self": f"/jobs/{record.id}"},
        )
        for record in page.records
    ]
    return as_json(
        JobList(jobs=jobs, total=page.total, total_exact=page.exact, limit=limit, offset=offset)
    )


@router.get(
    "/jobs/{job_id}",
    response_model=Job,
    summary="Read a job",
    responses=responses(problems.NOT_FOUND),
)
async def read(job_id: str, house: ServicesDep, caller: Reader) -> Response:
    """The whole job: plan, runs, critiques, the open review, result, cost, times."""
    loaded = await found(house, caller, job_id)
    return await job_answer(house, loaded.record, loaded.now)


@router.post(
    "/jobs/{job_id}/cancel",
    status_code=202,
    response_model=Job,
    summary="Cancel a job",
    responses=responses(problems.NOT_FOUND, problems.WRONG_STATE),
)
async def cancel(job_id: str, house: ServicesDep, caller: Submitter) -> Response:
    """End a job for good. After this no new model call and no new run starts."""
    loaded = await found(house, caller, job_id)
    cancelled = await house.operations.cancel(job_id, caller.name)
    if isinstance(cancelled, Refusal):
        raise from_refusal(cancelled)
    log.info("job cancelled", job_id=job_id)
    return await changed_answer(house, cancelled, loaded.now)


@router.delete(
    "/jobs/{job_id}",
    status_code=204,
    summary="Delete a job",
    response_class=Response,
    responses=responses(problems.NOT_FOUND, problems.WRONG_STATE),
)
async def delete(job_id: str, house: ServicesDep, caller: Admin) -> Response:
    """Remove a job that has ended, with its events, its decisions, its turn in the conversation,
    and what a retry would go on from. Its files go some time later; what it has cost stays counted.

    It takes an admin key, since who decided what goes with it. Nothing brings it back.
    """
    await found(house, caller, job_id)
    if (refused := await house.operations.delete(job_id)) is not None:
        raise from_refusal(refused)
    log.info("job deleted", job_id=job_id)
    return Response(status_code=204)


@router.post(
    "/jobs/{job_id}/retry",
    status_code=202,
    response_model=Job,
    summary="Try a job anew",
    responses=responses(
        problems.NOT_FOUND, problems.WRONG_STATE, problems.QUEUE_FULL, problems.STORE_FULL
    ),
)
async def retry(request: Request, job_id: str, house: ServicesDep, caller: Submitter) -> Response:
    """A new job, of the same conversation, that goes on where a failed or cancelled one stopped.

    What that has paid for is not paid again. A job that was rejected, or that no critic approved,
    has nothing to go on from: the new one begins anew.
    """
    await found(house, caller, job_id)
    await house.admission.check(caller.tenant)
    begun = await house.operations.try_anew(
        job_id, by=caller.name, key_id=caller.id, request_id=request.scope["request_id"]
    )
    if isinstance(begun, Refusal):
        raise from_refusal(begun)
    log.info("job tried anew", job_id=begun.id, retry_of=job_id)
    headers = {"Location": f"/jobs/{begun.id}"}
    return await changed_answer(house, begun, begun.updated_at, headers)


async def job_answer(
    house: Services, record: JobRecord, now: int, status: int = 200, headers: Any = None
) -> Response:
    """A whole job as the answer. What else is read is at least as new as the record."""
    events, charges = await asyncio.gather(
        house.store.events(record.id), house.store.charges(record.id)
    )
    if len(events) <= SHORT_STORY:
        return _whole(record, events, charges, now, status, headers)
    return await asyncio.to_thread(_whole, record, events, charges, now, status, headers)


def _whole(
    record: JobRecord,
    events: Sequence[Event],
    charges: Sequence[Charge],
    now: int,
    status: int,
    headers: Any,
) -> Response:
    told = links.add_to_job(view.whole(record, events, charges, now))
    return as_json(Job.model_validate(told), status, headers)


async def changed_answer(
    house: Services, record: JobRecord, now: int, headers: Any = None
) -> Response:
    """202 with the job that a commit has left. The change stands, so that is the answer even where
    Redis has fallen silent since: then with what the record alone tells, and `partial`."""
    try:
        return await job_answer(house, record, now, 202, headers)
    except StoreUnavailable as error:
        log.warning("store unavailable", job_id=record.id, error=str(error))
        told = links.add_to_job(view.whole(record, (), (), now))
        return as_json(Job.model_validate({**told, "partial": True}), 202, headers)
