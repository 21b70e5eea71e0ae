"""What a job has changed in its repository: a page, and the same as a part of the job's page."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from api import problems
from api.pages.format import patch as patches
from api.pages.rendering import long_page
from api.pages.visitor import Reader, Visitor
from api.problems import Refused
from api.services import Services, ServicesDep, find_job
from jobs.model.review import Review
from jobs.model.review_digest import digest_of
from jobs.view import patch as view
from jobs.view.patch import MOST_BYTES

router = APIRouter(prefix="/jobs/{job_id}/changes")
View = Literal["unified", "split"]


@router.get("")
async def whole(
    job_id: str,
    services: ServicesDep,
    visitor: Reader,
    how: Annotated[View, Query(alias="view")] = "unified",
) -> Response:
    """The page, which needs no scripts."""
    return await _drawn("patch_page.html", job_id, services, visitor, split=how == "split")


@router.get("/shown")
async def part(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """The part of the job's page."""
    return await _drawn("patch.html", job_id, services, visitor)


async def _drawn(
    template: str, job_id: str, services: Services, visitor: Visitor, *, split: bool = False
) -> Response:
    record = (await find_job(services, visitor.credential, job_id)).record
    if (patch := view.newest(record)) is None:
        raise Refused(problems.NOT_FOUND, view.why_none(record, "patch"))
    found, review = None, record.review
    if patch.size <= MOST_BYTES:
        content = await services.blobs.get(patch.digest)
        comments = _comments(review) if review else []
        found = await asyncio.to_thread(patches.shown, content, comments, split=split)
    return await long_page(
        template,
        visitor,
        job_id=job_id,
        task=record.spec.task,
        patch=patch,
        found=found,
        split=split,
        review=review if visitor.may("review") else None,
        digest=digest_of(review) if review else "",
    )


def _comments(review: Review) -> list[dict[str, Any]]:
    """Those of earlier decisions, each with its author."""
    return [
        {**comment, "by": decision["by"]}
        for decision in review.payload.get("decisions", ())
        for comment in decision.get("comments", ())
    ]
