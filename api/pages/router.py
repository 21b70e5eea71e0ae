"""All pages as one router."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import RedirectResponse

from api.pages import sign_in, static
from api.pages.views import downloads, job, jobs, live, new, patch, review, stats, system

router = APIRouter(include_in_schema=False)
for part in (jobs, job, live, review, patch, downloads, new, stats, system, sign_in, static):
    router.include_router(part.router, prefix="/app")


@router.get("/")
async def front() -> Response:
    """The bare address leads to the pages."""
    return RedirectResponse("app")


@router.get("/app/")
async def slash() -> Response:
    """The address with a trailing slash does, too."""
    return RedirectResponse("../app")
