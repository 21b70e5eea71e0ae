"""The page of a job, and the parts of it that come when they are looked at."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from api import problems
from api.pages.format import job_view
from api.pages.rendering import long_page
from api.pages.visitor import Reader, Submitter, Visitor
from api.problems import Refused
from api.routes import jobs as asked_over_http
from api.routes.found import found
from api.services import ServicesDep
from jobs import manifest, view

router = APIRouter(prefix="/jobs/{job_id}")


@router.get("")
async def job(job_id: str, request: Request, house: ServicesDep, visitor: Reader) -> Response:
    """The whole page; of a long story its beginning and its end."""
    told = await job_view.load(house, visitor, job_id)
    base_url = str(request.base_url).rstrip("/")
    values = await asyncio.to_thread(_whole, told, visitor, base_url)
    return await long_page("job.html", **values)


def _whole(told: job_view.Told, visitor: Visitor, base_url: str) -> dict[str, Any]:
    values = job_view.values(told, visitor, base_url)
    head, gap, tail = job_view.window(told.events)
    job_id, created = told.record.id, told.record.created_at
    return {
        **values,
        "region": job_view.regions(values),
        "head": job_view.timeline(job_id, head, created),
        "gap": gap,
        "tail": job_view.timeline(job_id, tail, created, job_view.newest_runs(told)),
        "last": told.last,
    }


@router.get("/timeline")
async def part(
    job_id: str,
    house: ServicesDep,
    visitor: Reader,
    after: Annotated[int, Query(ge=0, le=2**53)],
    before: Annotated[int, Query(ge=1, le=2**53)],
) -> Response:
    """Some of the events between two numbers, and what is left of the gap behind them."""
    record = (await found(house, visitor.credential, job_id)).record
    events = await house.store.events(job_id, after, max(before - after - 1, 0))
    shown, rest = events[: job_view.PART], events[job_view.PART :]
    runs = sum(fact.kind == "run_finished" for fact in rest)
    gap = job_view.Gap(shown[-1].seq, before, runs) if rest else None
    entries = await asyncio.to_thread(job_view.timeline, job_id, shown, record.created_at)
    return await long_page("timeline.html", visitor, entries=entries, gap=gap, job_id=job_id)


@router.get("/runs/{number}/shown")
async def run(job_id: str, number: int, house: ServicesDep, visitor: Reader) -> Response:
    """A run's code and output."""
    await found(house, visitor.credential, job_id)
    shown = view.run(await house.store.events(job_id), number)
    if shown is None:
        raise Refused(problems.NOT_FOUND, f"the job has no run {number}")
    return await long_page("run.html", visitor, run=job_view.Facts(shown), job_id=job_id)


@router.get("/files/shown")
async def files(job_id: str, house: ServicesDep, visitor: Reader) -> Response:
    """The files of the workspace."""
    record = (await found(house, visitor.credential, job_id)).record
    workspace = await manifest.load(house.blobs, record.workspace)
    listed = sorted(workspace.files.items())
    return await long_page("files.html", visitor, files=listed, job_id=job_id)


@router.post("/cancel")
async def cancel(job_id: str, house: ServicesDep, visitor: Submitter) -> Response:
    """End the job; its page tells so by itself."""
    await asked_over_http.cancel(job_id, house, visitor.credential)
    return Response(status_code=204)


@router.post("/retry")
async def retry(job_id: str, request: Request, house: ServicesDep, visitor: Submitter) -> Response:
    """Try the job anew; the new one's page comes."""
    begun = await asked_over_http.retry(request, job_id, house, visitor.credential)
    return Response(status_code=204, headers={"HX-Redirect": f"/app{begun.headers['location']}"})
