"""The decision on the review of a job's page."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from api import line_comments, problems
from api.changes import MAX_COMPARED_BYTES, load_text
from api.http.field_errors import refuse
from api.pages.format import job_view
from api.pages.forms import as_request, form_values
from api.pages.inbox import path_after_decision
from api.pages.rendering import go_to, render_part
from api.pages.visitor import Reader, Reviewer
from api.problems import RefusedRequest
from api.schemas.problem import FieldError
from api.schemas.review import ClaimRequest, ReviewRequest
from api.services import Services, ServicesDep, find_job
from api.submission.decisions import apply_decision, claim_review
from jobs.blobs import manifest
from jobs.model.record import JobRecord
from jobs.view.job import render_job

router = APIRouter(prefix="/jobs/{job_id}/review")

LISTS = frozenset({"answers"})
DECISION_FIELDS = ("action", "feedback", "code", "override", "review_id", "digest", *LISTS)
COMMENTS = "comments"


@router.post("")
async def decide(
    job_id: str, request: Request, services: ServicesDep, visitor: Reviewer
) -> Response:
    """Decide; the job's page shows the outcome, or the next job of the inbox opens."""
    loaded = await find_job(services, visitor.credential, job_id)
    form = await form_values(request, services.settings, lists=LISTS)
    values = {name: form[name] for name in DECISION_FIELDS if name in form}
    if form.get(COMMENTS):
        values[COMMENTS] = _parse_comments(form[COMMENTS])
    if path := form.get("path"):
        _, end = await _load_lines(services, loaded.record, path)
        values["files"] = {path: form.get("text", "").replace("\n", end)}
    decision = as_request(ReviewRequest, values)
    await apply_decision(services, visitor.credential, loaded, decision)
    snoozed = {review.partition("@")[0] for review in form.get("snoozed", "").split()}
    following = await path_after_decision(request, services, visitor, loaded.record, snoozed)
    return go_to(request, following)


@router.post("/claim")
async def claim(
    job_id: str, request: Request, services: ServicesDep, visitor: Reviewer
) -> Response:
    """Claim, assign or release the review; the page's stream shows the outcome."""
    await find_job(services, visitor.credential, job_id)
    values = await form_values(request, services.settings)
    claimed = as_request(ClaimRequest, values)
    await claim_review(services, visitor.credential, job_id, claimed)
    return go_to(request, f"/app/jobs/{job_id}")


def _parse_comments(text: str) -> list[dict[str, Any]]:
    """The comments of the form's field. Raises RefusedRequest: 422."""
    comments = []
    for written in line_comments.split(text):
        comment = line_comments.parse(written)
        if comment is None:
            message = f"“{written[:80]}” is not PATH:LINE: TEXT, as in src/a.py:12: too slow"
            refuse([FieldError(field=COMMENTS, message=message)])
        else:
            comments.append(comment)
    return comments


@router.get("/edit")
async def edit(
    job_id: str,
    request: Request,
    services: ServicesDep,
    visitor: Reader,
    path: Annotated[str, Query(max_length=4_096)] = "",
) -> Response:
    """The form to edit a file, or without a path the last Python program that ran; that is empty if
    only commands ran."""
    story = await job_view.load_story(services, visitor, job_id)
    job = render_job(story.record, story.events, story.charges, story.now)
    if path:
        code, _ = await _load_lines(services, story.record, path)
    else:
        programs = [run["code"] for run in job["runs"] if run.get("tool", "python") == "python"]
        code = await load_text(services.blobs, programs[-1]) if programs else ""
    values = {"job": job, "code": code, "path": path}
    return await render_part(request, "review_edit.html", visitor, job_id, **values)


async def _load_lines(services: Services, record: JobRecord, path: str) -> tuple[str, str]:
    """The text of a file of the work with line feeds, as a form has it, and the line end of the
    file. Raises RefusedRequest: 404, 422 if a form would change more than a person does."""
    entry = (await manifest.load(services.blobs, record.workspace)).files.get(path)
    if entry is None:
        raise RefusedRequest(problems.NOT_FOUND, "the work has no such file")
    content = await services.blobs.get(entry.digest) if entry.size <= MAX_COMPARED_BYTES else b"\0"
    text = content.decode(errors="replace")
    end = "\r\n" if "\r\n" in text else "\n"
    plain = text.replace(end, "\n")
    if "\0" in text or "\r" in plain or plain.replace("\n", end).encode() != content:
        advice = f"use fettle review {record.id} edit --file PATH"
        message = f"it is large, is not UTF-8 text, or has mixed line ends: {advice}"
        refuse([FieldError(field="path", message=message)])
    return plain, end
