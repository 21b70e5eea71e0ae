"""The change of a job's work: on a page of its own, and as a part of the job's page."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from mimetypes import guess_type
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response

from api import problems
from api.changes import NOW, REVIEW_NUMBER, START, Changes, Since, Until, load_changes, load_version
from api.http.answers import is_unchanged, untrusted_headers
from api.pages.format.file_view import is_picture
from api.pages.format.patch import render_patch
from api.pages.rendering import render_page_in_thread
from api.pages.visitor import Reader, Visitor
from api.problems import RefusedRequest
from api.services import ServicesDep, find_job
from jobs.blobs.directory import digest_bytes
from jobs.model.record import JobRecord
from jobs.model.review import Review
from jobs.model.review_digest import digest_review
from jobs.view.attention import attention_of
from jobs.view.comments import mark_outdated
from jobs.view.patch import PatchFile

router = APIRouter(prefix="/jobs/{job_id}/changes")

Moment = Annotated[str, Query(pattern=f"^({START}|{NOW}|{REVIEW_NUMBER})$")]


@router.get("")
async def changes(
    job_id: str,
    services: ServicesDep,
    visitor: Reader,
    layout: Annotated[Literal["unified", "split"], Query(alias="view")] = "unified",
    since: Since = START,
    until: Until = NOW,
) -> Response:
    """The page, which needs no scripts."""
    record = (await find_job(services, visitor.credential, job_id)).record
    loaded = await load_changes(services, record, since, until, with_code=True)
    return await _render("patch_page.html", visitor, record, loaded, split=layout == "split")


@router.get("/shown")
async def changes_part(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """The part of the job's page."""
    record = (await find_job(services, visitor.credential, job_id)).record
    loaded = await load_changes(services, record, with_code=True)
    return await _render("patch.html", visitor, record, loaded)


@router.get("/picture")
async def picture(
    job_id: str,
    request: Request,
    services: ServicesDep,
    visitor: Reader,
    path: Annotated[str, Query(max_length=4_096)],
    at: Moment,
    patch_at: Moment,
) -> Response:
    """A version of a changed picture. `patch_at`: see `load_version`."""
    record = (await find_job(services, visitor.credential, job_id)).record
    content = await load_version(services, record, path, at, patch_at)
    if content is None or not is_picture(path):
        raise RefusedRequest(problems.NOT_FOUND, "this version of the picture is not stored")
    digest = digest_bytes(content)
    headers = untrusted_headers(path, guess_type(path)[0] or "", digest)
    if is_unchanged(request, digest):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers)


async def _render(
    template: str, visitor: Visitor, record: JobRecord, changes: Changes, *, split: bool = False
) -> Response:
    review = record.review
    rendered = await asyncio.to_thread(_rendered_patch, record, changes, split=split)
    return await render_page_in_thread(
        template,
        visitor,
        job_id=record.id,
        has_commit=record.spec.repo is not None,
        task=record.spec.task,
        changes=changes,
        rendered_patch=rendered,
        split=split,
        review=review if visitor.may("review") else None,
        digest=digest_review(review) if review else "",
    )


def _rendered_patch(record: JobRecord, changes: Changes, *, split: bool) -> dict[str, Any]:
    files = changes.files or ()
    # Comments are about lines of the whole change, which other changes number differently.
    review = record.review if changes.takes_comments else None
    comments = _earlier_comments(review, files) if review else []
    lfs = changes.patch.lfs if changes.patch else ()
    facts = {file.path: file.facts for file in attention_of(files, record.spec, lfs)}
    after = (record.id, changes.until)
    return render_patch(files, comments, facts, split=split, after=after, program=changes.code)


def _earlier_comments(review: Review, files: Sequence[PatchFile]) -> list[dict[str, Any]]:
    """The comments of earlier decisions, each with its author."""
    decisions = mark_outdated(review.payload.get("decisions", ()), files)
    return [
        {**comment, "by": decision["by"]}
        for decision in decisions
        for comment in decision["comments"]
    ]
