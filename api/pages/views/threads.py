"""Pages of conversations and of a comparison, and the forms for a follow-up and for a fork."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from api import problems
from api.http.field_errors import refuse
from api.listing import read_page
from api.pages.format.job_view import with_optional_values
from api.pages.format.patch import render_patch
from api.pages.format.strip import strip_of
from api.pages.forms import as_request, form_values
from api.pages.rendering import go_to, render_page_in_thread
from api.pages.views.jobs import ROWS, ListQueryDep, page_values
from api.pages.visitor import Reader, Submitter
from api.problems import RefusedRequest
from api.routes.compare import JobIds
from api.routes.conversations import ConversationId
from api.schemas.job_request import ForkRequest, JobRequest
from api.services import ServicesDep, find_job
from api.submission import new_jobs
from api.submission.validation import model_errors
from api.threads import (
    compare_with_first,
    find_compared_jobs,
    find_conversation,
    load_jobs,
)

router = APIRouter()

TURNS = 20
"""The jobs on the page of a conversation."""


@router.get("/conversations")
async def conversations(services: ServicesDep, visitor: Reader, query: ListQueryDep) -> Response:
    """The first jobs of conversations, the latest begun first."""
    offset = (query.number - 1) * ROWS
    page = await read_page(
        services, visitor.credential, query.filters, ROWS, offset, first_of_conversations=True
    )
    values = page_values(page, await services.store.now(), None)
    return await render_page_in_thread("conversations.html", visitor, query=query, **values)


@router.get("/conversations/{conversation_id}")
async def conversation(
    conversation_id: ConversationId,
    services: ServicesDep,
    visitor: Reader,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """The jobs of a conversation in the order of their submission, and the composer of the next."""
    caller = visitor.credential
    page = await find_conversation(services, caller, conversation_id, TURNS, offset)
    if not page.records:
        raise RefusedRequest(problems.NOT_FOUND, "the conversation has no jobs on this page")
    jobs = await load_jobs(services, page.records[::-1])
    turns = [{"job": with_optional_values(job), "strip": strip_of(job)} for job in jobs]
    return await render_page_in_thread(
        "conversation.html",
        visitor,
        turns=turns,
        branches=_pushes_by_branch(jobs),
        total=page.total,
        older=offset + TURNS if offset + TURNS < page.total else None,
        newer=max(offset - TURNS, 0) if offset else None,
    )


def _pushes_by_branch(jobs: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The deliveries of these jobs by their branch, oldest first: {job_id, task, delivery}."""
    pushes: dict[str, list[dict[str, Any]]] = {}
    for job in jobs:
        delivery = job["result"] and job["result"]["delivery"]
        if delivery and delivery["commit"]:
            push = {"job_id": job["id"], "task": job["spec"]["task"], "delivery": delivery}
            pushes.setdefault(delivery["branch"], []).append(push)
    return pushes


@router.get("/compare")
async def compare(services: ServicesDep, visitor: Reader, jobs: JobIds | None = None) -> Response:
    """The outcomes of jobs, and the differences of their files."""
    records = await find_compared_jobs(services, visitor.credential, jobs) if jobs else []
    differences = []
    for record, files, problem in await compare_with_first(services, records):
        rendered = await asyncio.to_thread(render_patch, files)
        differences.append({"job_id": record.id, "problem": problem, "files": rendered["files"]})
    return await render_page_in_thread(
        "compare.html",
        visitor,
        ids=jobs or "",
        jobs=await load_jobs(services, records),
        differences=differences,
    )


@router.post("/jobs/{job_id}/follow-up")
async def follow_up(
    job_id: str, request: Request, services: ServicesDep, visitor: Submitter
) -> Response:
    """Submit the next task of the job's conversation, with the job's models and review, and go to
    the page of the new job. It inherits the repository and its options from the conversation."""
    record = (await find_job(services, visitor.credential, job_id)).record
    values = await form_values(request, services.settings)
    terms: dict[str, Any] = {"model": record.spec.model, "review": record.spec.review}
    if record.spec.review:
        terms["approvals"] = max(record.spec.approvals, services.settings.review_approvals)
    task = {"task": values.get("task", "").strip(), "conversation_id": record.conversation_id}
    job = as_request(JobRequest, {**task, **terms})
    caller, size = visitor.credential, len(job.model_dump_json())
    job, spec = await new_jobs.check(services, caller, job, size)
    spec = replace(spec, model=record.spec.model, role_models=record.spec.role_models)
    refuse(model_errors(spec, services.settings))
    request_id = request.scope["request_id"]
    submitted = await new_jobs.submit(services, caller, job, spec, request_id)
    return go_to(request, f"/app/jobs/{submitted.record.id}")


@router.post("/jobs/{job_id}/fork")
async def fork(
    job_id: str, request: Request, services: ServicesDep, visitor: Submitter
) -> Response:
    """Run the job again with the changes of the form, and go to the page of the new job. An empty
    field changes nothing."""
    values = await form_values(request, services.settings)
    changes = as_request(ForkRequest, {name: value for name, value in values.items() if value})
    submitted = await new_jobs.fork(
        services, visitor.credential, job_id, changes, request.scope["request_id"]
    )
    return go_to(request, f"/app/jobs/{submitted.record.id}")
