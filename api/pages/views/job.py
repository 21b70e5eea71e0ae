"""The page of a job, and its parts that are loaded on demand."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from api import problems
from api.changes import NOW, load_workspace
from api.pages.format import job_view
from api.pages.format.file_view import max_bytes, view_file
from api.pages.format.patch import Gap, render_gap
from api.pages.forms import as_request, form_values
from api.pages.rendering import POLICY_OF_FILES, go_to, render_page_in_thread, render_part
from api.pages.visitor import Reader, Submitter, Visitor
from api.problems import RefusedRequest
from api.routes import jobs as jobs_api
from api.routes.downloads import Moment
from api.routes.messages import send_message
from api.schemas.job_request import RetryRequest
from api.schemas.message import MessageRequest
from api.services import Services, ServicesDep, find_job
from api.submission import new_jobs
from jobs.blobs import manifest
from jobs.blobs.manifest import FileEntry
from jobs.model.review import ReviewKind
from jobs.view import patch as patches
from jobs.view.work import find_run

router = APIRouter(prefix="/jobs/{job_id}")


@router.get("")
async def job(job_id: str, request: Request, services: ServicesDep, visitor: Reader) -> Response:
    """The page; of a long timeline the beginning and the end."""
    story = await job_view.load_story(services, visitor, job_id)
    base_url = str(request.base_url).rstrip("/")
    values = await asyncio.to_thread(_page_values, story, visitor, base_url)
    return await render_page_in_thread("job.html", **values)


def _page_values(story: job_view.JobStory, visitor: Visitor, base_url: str) -> dict[str, Any]:
    values = job_view.page_values(story, visitor, base_url)
    head, gap, tail = job_view.split_events(story.events)
    job_id, created = story.record.id, story.record.created_at
    return {
        **values,
        "region": job_view.render_regions(values),
        "head": job_view.timeline_entries(job_id, head, created),
        "gap": gap,
        "tail": job_view.timeline_entries(job_id, tail, created, job_view.newest_runs(story)),
        "last": story.last,
    }


@router.get("/timeline")
async def part(
    job_id: str,
    request: Request,
    services: ServicesDep,
    visitor: Reader,
    after: Annotated[int, Query(ge=0, le=2**53)],
    before: Annotated[int, Query(ge=1, le=2**53)],
) -> Response:
    """The first events between two numbers, and the rest of the gap."""
    record = (await find_job(services, visitor.credential, job_id)).record
    events = await services.store.events(job_id, after, max(before - after - 1, 0))
    count = job_view.EVENTS_PER_CLICK
    visible_events, hidden_events = events[:count], events[count:]
    runs = sum(event.kind == "run_finished" for event in hidden_events)
    gap = job_view.Gap(visible_events[-1].seq, before, runs) if hidden_events else None
    entries = await asyncio.to_thread(
        job_view.timeline_entries, job_id, visible_events, record.created_at
    )
    return await render_part(request, "timeline.html", visitor, job_id, entries=entries, gap=gap)


@router.get("/runs/{number}/shown")
async def run(
    job_id: str, number: int, request: Request, services: ServicesDep, visitor: Reader
) -> Response:
    """A run's code and output."""
    await find_job(services, visitor.credential, job_id)
    run_data = find_run(await services.store.events(job_id), number)
    if run_data is None:
        raise RefusedRequest(problems.NOT_FOUND, f"the job has no run {number}")
    run_values = job_view.EventValues(run_data)
    return await render_part(request, "run.html", visitor, job_id, run=run_values)


@router.get("/files/shown")
async def files(job_id: str, request: Request, services: ServicesDep, visitor: Reader) -> Response:
    """The files of the workspace."""
    record = (await find_job(services, visitor.credential, job_id)).record
    workspace = await manifest.load(services.blobs, record.workspace)
    listed = sorted(workspace.files.items())
    links = sorted(workspace.links.items())
    may_edit = visitor.may("review") and record.review and record.review.kind is ReviewKind.REVIEW
    values = {"files": listed, "links": links, "may_edit": may_edit}
    return await render_part(request, "files.html", visitor, job_id, **values)


@router.get("/view")
async def view(
    job_id: str, path: str, services: ServicesDep, visitor: Reader, at: Moment = NOW
) -> Response:
    """The page of a file."""
    entry = await _find_entry(services, visitor, job_id, path, at)
    content = await _load_content(services, entry, max_bytes(path))
    file = await asyncio.to_thread(view_file, path, content)
    values = {"job_id": job_id, "path": path, "at": at, "entry": entry, "file": file}
    headers = {"Content-Security-Policy": POLICY_OF_FILES}
    return await render_page_in_thread("file.html", visitor, headers=headers, **values)


@router.get("/context")
async def context(
    services: ServicesDep, visitor: Reader, at: Moment, gap: Annotated[Gap, Depends(Gap)]
) -> Response:
    """The lines of a gap of a patch."""
    entry = await _find_entry(services, visitor, gap.job_id, gap.path, at)
    content = await _load_content(services, entry, patches.MAX_BYTES)
    return HTMLResponse(await asyncio.to_thread(render_gap, content, gap))


async def _load_content(services: Services, entry: FileEntry, max_size: int) -> bytes | None:
    """The bytes of a file; None if it is larger than a page shows."""
    return await services.blobs.get(entry.digest) if entry.size <= max_size else None


async def _find_entry(
    services: Services, visitor: Visitor, job_id: str, path: str, at: str
) -> FileEntry:
    """The file. Raises RefusedRequest: 404."""
    record = (await find_job(services, visitor.credential, job_id)).record
    entry = (await load_workspace(services, record, at)).files.get(path)
    if entry is None:
        raise RefusedRequest(problems.NOT_FOUND, "the workspace has no such file")
    return entry


@router.post("/cancel")
async def cancel(
    job_id: str, request: Request, services: ServicesDep, visitor: Submitter
) -> Response:
    """Cancel the job; the page's stream shows the outcome."""
    await jobs_api.cancel(job_id, services, visitor.credential)
    return go_to(request, f"/app/jobs/{job_id}")


@router.post("/message")
async def message(
    job_id: str, request: Request, services: ServicesDep, visitor: Submitter
) -> Response:
    """Send a message to the job; the page's stream shows it."""
    values = await form_values(request, services.settings)
    sent = as_request(MessageRequest, {"text": values.get("text", "")})
    await send_message(services, visitor.credential, job_id, sent)
    return go_to(request, f"/app/jobs/{job_id}")


@router.post("/retry")
async def retry(
    job_id: str, request: Request, services: ServicesDep, visitor: Submitter
) -> Response:
    """Retry the job with the terms of the form, and go to the page of the new job. An empty field
    leaves the term unchanged."""
    values = await form_values(request, services.settings)
    terms = as_request(RetryRequest, {name: value for name, value in values.items() if value})
    submitted = await new_jobs.retry(
        services, visitor.credential, job_id, terms, request.scope["request_id"]
    )
    return go_to(request, f"/app/jobs/{submitted.record.id}")


@router.post("/rebase")
async def rebase(
    job_id: str, request: Request, services: ServicesDep, visitor: Submitter
) -> Response:
    """Rebase the job's change, and go to the new job's page."""
    request_id = request.scope["request_id"]
    submitted = await new_jobs.rebase(services, visitor.credential, job_id, request_id)
    return go_to(request, f"/app/jobs/{submitted.record.id}")
