"""The change of a job's work: on a page of its own, and as a part of the job's page."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from api.changes import load_changes
from api.pages.format.patch import render_patch
from api.pages.rendering import render_page_in_thread
from api.pages.visitor import Reader, Visitor
from api.services import Services, ServicesDep, find_job
from jobs.model.review import Review
from jobs.model.review_digest import digest_review
from jobs.view.patch import Since

router = APIRouter(prefix="/jobs/{job_id}/changes")


@router.get("")
async def changes(
    job_id: str,
    services: ServicesDep,
    visitor: Reader,
    layout: Annotated[Literal["unified", "split"], Query(alias="view")] = "unified",
    since: Since = Since.START,
) -> Response:
    """The page, which needs no scripts."""
    split = layout == "split"
    return await _changes_page("patch_page.html", job_id, services, visitor, since, split=split)


@router.get("/shown")
async def changes_part(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """The part of the job's page."""
    return await _changes_page("patch.html", job_id, services, visitor, Since.START, split=False)


async def _changes_page(
    template: str, job_id: str, services: Services, visitor: Visitor, since: Since, *, split: bool
) -> Response:
    record = (await find_job(services, visitor.credential, job_id)).record
    changes = await load_changes(services, record, since, with_code=True)
    review = record.review
    # Comments are about lines of the stored patch, which other changes number differently.
    has_lines = changes.patch is not None and changes.files is not None
    comments = _earlier_comments(review) if review and has_lines else []
    files = [*(changes.files or ()), *([changes.code] if changes.code else ())]
    facts = {file.path: file.facts for file in changes.attention}
    rendered = await asyncio.to_thread(render_patch, files, comments, facts, split=split)
    return await render_page_in_thread(
        template,
        visitor,
        job_id=job_id,
        task=record.spec.task,
        changes=changes,
        rendered_patch=rendered,
        split=split,
        review=review if visitor.may("review") else None,
        digest=digest_review(review) if review else "",
    )


def _earlier_comments(review: Review) -> list[dict[str, Any]]:
    """The comments of earlier decisions, each with its author."""
    return [
        {**comment, "by": decision["by"]}
        for decision in review.payload.get("decisions", ())
        for comment in decision.get("comments", ())
    ]
