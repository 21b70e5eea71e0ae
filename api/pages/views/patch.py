"""What a job has changed in its repository: a page, and the same as a part of the job's page."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Response

from api import problems
from api.pages.format import patch as patches
from api.pages.rendering import long_page
from api.pages.visitor import Reader, Visitor
from api.problems import Refused
from api.services import Services, ServicesDep, find_job
from jobs.view import patch as view
from jobs.view.patch_text import MOST_BYTES

router = APIRouter(prefix="/jobs/{job_id}/changes")


@router.get("")
async def whole(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """The page, which needs no scripts."""
    return await _drawn("patch_page.html", job_id, services, visitor)


@router.get("/shown")
async def part(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """The part of the job's page."""
    return await _drawn("patch.html", job_id, services, visitor)


async def _drawn(template: str, job_id: str, services: Services, visitor: Visitor) -> Response:
    record = (await find_job(services, visitor.credential, job_id)).record
    if (patch := view.newest(record)) is None:
        raise Refused(problems.NOT_FOUND, view.why_none(record, "patch"))
    found = None
    if patch.size <= MOST_BYTES:
        found = await asyncio.to_thread(patches.shown, await services.blobs.get(patch.digest))
    return await long_page(
        template, visitor, job_id=job_id, task=record.spec.task, patch=patch, found=found
    )
