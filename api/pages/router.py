"""All pages as one router."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from api.pages import sign_in, static
from api.pages.views import (
    admin,
    audit,
    benchmarks,
    changes,
    deployment,
    inbox,
    job,
    jobs,
    live,
    new,
    review,
    review_rules,
    threads,
)
from api.pages.visitor import Reader
from api.routes import downloads


async def with_session(request: Request, visitor: Reader) -> None:
    """A dependency of the downloads below /app: the reader is the signed-in visitor."""
    request.state.downloader = visitor.credential


router = APIRouter(include_in_schema=False)
for part in (jobs, inbox, job, changes, live, review, threads):
    router.include_router(part.router, prefix="/app")
router.include_router(downloads.router, prefix="/app", dependencies=[Depends(with_session)])
for part in (new, deployment, benchmarks, admin, review_rules, audit, sign_in, static):
    router.include_router(part.router, prefix="/app")


@router.get("/")
async def root() -> Response:
    """Redirect the bare address to the pages."""
    return RedirectResponse("app")


@router.get("/app/")
async def trailing_slash() -> Response:
    """Redirect the address with a trailing slash to the pages."""
    return RedirectResponse("../app")
