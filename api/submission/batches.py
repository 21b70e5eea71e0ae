"""Batches: many jobs of one request. Each request of a job is accepted or refused by itself.

A batch has no record: its jobs have its id. With an Idempotency-Key, the id of the batch and the
keys of its jobs derive from this key. So a repeated request finds the jobs that exist, and makes
the others. See ADR 104.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from fastapi import Request
from pydantic_core import to_json

from api.http.answers import receipt_of
from api.http.body import parse_json
from api.http.field_errors import refuse
from api.problems import problem_of_refusal
from api.refusals import FAILURES, refusal_of
from api.schemas.batch import SubmittedJob
from api.schemas.job_request import JobRequest
from api.schemas.problem import FieldError
from api.services import Services
from api.submission import new_jobs
from api.submission.job_spec import request_digest
from jobs.errors import StoreUnavailable
from jobs.model.credentials import Credential
from jobs.model.record import new_job_id
from jobs.service import Submission
from jobs.store import Idempotency

CONCURRENT_JOBS = 8
"""The jobs of a batch that are submitted or cancelled at a time."""


async def submit_batch(
    request: Request,
    services: Services,
    caller: Credential,
    jobs: Sequence[Any],
    idempotency_key: str | None,
) -> tuple[str, list[SubmittedJob]]:
    """Submit the jobs. `jobs` are the JSON values of their requests. Returns the id of the batch,
    and the answers in the order of the requests. The jobs of a conversation are submitted one by
    one, in their order: each follows up the job before it."""
    batch_id = _batch_id_of(caller, idempotency_key)
    slots = asyncio.Semaphore(CONCURRENT_JOBS)
    turns: dict[str | int, asyncio.Lock] = defaultdict(asyncio.Lock)
    outages: list[StoreUnavailable] = []

    async def answer(index: int, body: Any) -> SubmittedJob:
        # A key of a user has no space, so it cannot equal this key.
        key = f"{batch_id} {index}" if idempotency_key else None
        conversation = body.get("conversation_id") if isinstance(body, dict) else None
        async with turns[conversation if isinstance(conversation, str) else index], slots:
            try:
                if outages:  # else each job would wait for Redis in vain
                    raise outages[0]
                submitted = await _submit(request, services, caller, body, batch_id, key)
            except FAILURES as error:
                if isinstance(error, StoreUnavailable):
                    outages.append(error)
                refused = refusal_of(request, error)
                problem = problem_of_refusal(refused, request.scope["request_id"])
                return SubmittedJob(index=index, problem=problem)
        job = receipt_of(submitted.record)
        return SubmittedJob(index=index, job=job, replayed=not submitted.is_new)

    answers = await asyncio.gather(*(answer(index, body) for index, body in enumerate(jobs)))
    return batch_id, answers


def _batch_id_of(caller: Credential, key: str | None) -> str:
    """The id of the batch with this Idempotency-Key; without a key, a new id."""
    if key is None:
        return new_job_id()
    digest = hashlib.sha256(f"batch {caller.tenant} {key}".encode()).hexdigest()
    return digest[: len(new_job_id())]


async def _submit(
    request: Request,
    services: Services,
    caller: Credential,
    body: Any,
    batch_id: str,
    key: str | None,
) -> Submission:
    content = to_json(body, inf_nan_mode="constants")
    job = parse_json(content, JobRequest, services.settings)
    if job.benchmark is not None:
        message = "a batch has no benchmarks: submit this one with POST /jobs"
        refuse([FieldError(field="benchmark", message=message)])
    once = Idempotency(key, request_digest(job)) if key else None
    if (submitted := await new_jobs.replay(services, caller, once)) is not None:
        return submitted
    job, spec = await new_jobs.check(services, caller, job, len(content))
    request_id = request.scope["request_id"]
    return await new_jobs.submit(services, caller, job, spec, request_id, once, batch_id=batch_id)


async def cancel_jobs(services: Services, caller: Credential, job_ids: Sequence[str]) -> None:
    """Cancel jobs that have not ended. A job that ends before its cancellation keeps
    its state."""
    slots = asyncio.Semaphore(CONCURRENT_JOBS)

    async def cancel(job_id: str) -> None:
        async with slots:
            await services.operations.cancel(job_id, caller.name, caller.id, caller.person)

    await asyncio.gather(*map(cancel, job_ids))
