"""The review on a job's page: the changes since the last pause, and the decision."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from markupsafe import Markup

from api import line_comments
from api.http.field_errors import refuse
from api.pages.format import job_view
from api.pages.format.code import diff_of, highlight
from api.pages.forms import as_request, form_values
from api.pages.rendering import render_page_in_thread
from api.pages.visitor import Reader, Reviewer
from api.schemas.problem import FieldError
from api.schemas.review import ReviewRequest
from api.services import Services, ServicesDep, find_job
from api.submission.decisions import apply_decision
from api.submission.inputs import start_files
from jobs.blobs import manifest
from jobs.blobs.directory import Blobs
from jobs.errors import BlobMissing
from jobs.model.events import Event, events_since_restart
from jobs.model.record import JobRecord
from jobs.view.job import render_job
from jobs.view.work import list_artifacts

router = APIRouter(prefix="/jobs/{job_id}/review")

MAX_COMPARED_FILES = 20
MAX_COMPARED_BYTES = 256 * 1024
LISTS = frozenset({"answers"})
DECISION_FIELDS = ("action", "feedback", "code", "override", "review_id", "digest", *LISTS)
COMMENTS = "comments"
TEXT_TYPES = frozenset({"application/json", "application/xml", "image/svg+xml"})
"""Media types of texts, besides `text/...`."""


@dataclass(frozen=True, slots=True)
class PageChange:
    """A changed file, or the code of the last run."""

    name: str
    diff: str = ""
    """The unified diff; empty if the page shows none."""
    note: str = ""
    """The kind of the change, or the reason for showing no diff."""
    code: Markup | None = None
    """The text of a new file."""


@router.post("")
async def decide(
    job_id: str, request: Request, services: ServicesDep, visitor: Reviewer
) -> Response:
    """Decide; the job's page shows the outcome."""
    loaded = await find_job(services, visitor.credential, job_id)
    form = await form_values(request, services.settings, lists=LISTS)
    values = {name: form[name] for name in DECISION_FIELDS if name in form}
    if form.get(COMMENTS):
        values[COMMENTS] = _parse_comments(form[COMMENTS])
    decision = as_request(ReviewRequest, values)
    await apply_decision(services, visitor.credential, loaded, decision)
    job_page = f"/app/jobs/{job_id}"
    if "hx-request" not in request.headers:
        return RedirectResponse(job_page, 303)
    is_on_job_page = urlsplit(request.headers.get("hx-current-url", job_page)).path == job_page
    return Response(status_code=204, headers={} if is_on_job_page else {"HX-Redirect": job_page})


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
async def edit(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """The form to edit the last Python program that ran; it is empty if only commands ran."""
    story = await job_view.load_story(services, visitor, job_id)
    job = render_job(story.record, story.events, story.charges, story.now)
    programs = [run["code"] for run in job["runs"] if run.get("tool", "python") == "python"]
    code = await _full_text(services.blobs, programs[-1]) if programs else ""
    return await render_page_in_thread("review_edit.html", visitor, job=job, code=code)


@router.get("/changes")
async def changes(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """The changes since the last pause, or since the start at the first pause."""
    story = await job_view.load_story(services, visitor, job_id)
    events_before = _events_before_last_pause(story.events)
    # At the first pause of a job on a repository, its patch shows every change.
    is_compared = bool(events_before) or story.record.spec.repo is None
    files = []
    if is_compared:
        files = await changed_files(services, story.record, events_before, story.events)
    code = await _code_change(services, events_before, story.events)
    return await render_page_in_thread(
        "review_changes.html",
        visitor,
        changed=[*files, *code],
        compared=is_compared,
        since="the last pause" if events_before else "the start",
    )


def _events_before_last_pause(events: Sequence[Event]) -> Sequence[Event]:
    """The events up to the pause before the present one; none at the first pause."""
    counted = events_since_restart(events)
    pauses = [index for index, event in enumerate(counted) if event.kind == "review_opened"]
    return counted[: pauses[-2]] if len(pauses) > 1 else ()


async def changed_files(
    services: Services,
    record: JobRecord,
    events_before: Sequence[Event],
    events: Sequence[Event],
) -> list[PageChange]:
    """Every file that changed after `events_before`, including files that are not compared."""
    present = (await manifest.load(services.blobs, record.workspace)).files
    start = await start_files(services, record)
    old_digests = {path: entry.digest for path, entry in start.files.items()}
    before = list_artifacts(events_before)
    old_digests |= {name: artifact["digest"] for name, artifact in before.items()}
    artifacts = list_artifacts(events)
    changed = {
        name: artifact
        for name, artifact in artifacts.items()
        if name in present and artifact["digest"] != old_digests.get(name)
    }
    # The first change of a repository's file has no older version here: the patch shows it.
    in_patch = [
        name for name in changed if record.spec.repo is not None and name not in old_digests
    ]
    names = [name for name in changed if name not in in_patch]
    compared, uncompared = names[:MAX_COMPARED_FILES], names[MAX_COMPARED_FILES:]
    deleted = sorted(old_digests.keys() - present.keys())
    return [
        *[PageChange(name, note="not changed before: see the patch") for name in in_patch],
        *[
            await _compare_file(services.blobs, name, old_digests.get(name), changed[name])
            for name in compared
        ],
        *[
            PageChange(name, note=f"{_change_kind(old_digests.get(name))}, NOT shown here")
            for name in uncompared
        ],
        *[PageChange(name, note="deleted") for name in deleted],
    ]


def _change_kind(old_digest: str | None) -> str:
    return "changed" if old_digest else "new"


async def _compare_file(
    blobs: Blobs, name: str, old_digest: str | None, artifact: Mapping[str, Any]
) -> PageChange:
    kind = _change_kind(old_digest)
    if artifact["size"] > MAX_COMPARED_BYTES or not _is_text(artifact["media_type"]):
        size = f"{artifact['media_type']}, {artifact['size']:,} bytes"
        return PageChange(name, note=f"{kind}: {size}; not shown here")
    try:
        old = await blobs.get(old_digest) if old_digest else b""
        new = await blobs.get(artifact["digest"])
    except BlobMissing:
        return PageChange(name, note="its bytes are missing from the artifact store")
    if old_digest is None:
        code = await asyncio.to_thread(highlight, _decode(new), name=name)
        return PageChange(name, note="new", code=code)
    if len(old) > MAX_COMPARED_BYTES:
        return PageChange(name, note="changed; the earlier version is too large to show")
    return await _compare(name, _decode(old), _decode(new))


async def _compare(name: str, old: str, new: str) -> PageChange:
    """Compare two texts that differ, in a thread, because comparing is slow."""
    diff = await asyncio.to_thread(diff_of, old, new)
    if diff is None:
        return PageChange(name, note="changed; it would take too long to compare")
    return PageChange(name, diff, "" if diff else "changed: only bytes that are not text")


def _decode(content: bytes) -> str:
    """Bytes that are not UTF-8 are escaped, so that different contents look different."""
    return content.decode(errors="backslashreplace")


async def _code_change(
    services: Services, events_before: Sequence[Event], events: Sequence[Event]
) -> list[PageChange]:
    """The change of the last run's code; empty if the evidence shows all of the code."""
    old_runs, runs = (
        [event.data for event in part if event.kind == "run_finished"]
        for part in (events_before, events)
    )
    if not runs:
        return []
    last = runs[-1]
    name, new = f"code of run {last['number']}", await _full_text(services.blobs, last["code"])
    if old_runs:
        old = await _full_text(services.blobs, old_runs[-1]["code"])
        return [await _compare(name, old, new)] if old != new else []
    if not last["code"].get("digest"):
        return []
    if len(new) > MAX_COMPARED_BYTES:
        return [PageChange(name, note=f"{len(new):,} characters: too long to show here")]
    return [PageChange(name, note="complete", code=await asyncio.to_thread(highlight, new))]


async def _full_text(blobs: Blobs, text: Mapping[str, Any]) -> str:
    """The complete text. An event may have only its head and tail, and its digest."""
    digest = text.get("digest")
    return (await blobs.get(digest)).decode(errors="replace") if digest else str(text["text"])


def _is_text(media_type: str) -> bool:
    essence = media_type.partition(";")[0]
    return essence.startswith("text/") or essence in TEXT_TYPES
