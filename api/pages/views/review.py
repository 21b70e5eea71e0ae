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
from api.pages.format.code import coloured, diff_of
from api.pages.forms import as_request, form_values
from api.pages.rendering import long_page
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

MOST_FILES = 20
MOST_BYTES = 256 * 1024
LISTS = frozenset({"answers"})
DECISION = ("action", "feedback", "code", "review_id", "digest", *LISTS)
COMMENTS = "comments"


@dataclass(frozen=True, slots=True)
class Changed:
    """A changed file, or the last run's code.

    `diff` shows what changed, `code` a new one; `why` explains what is not shown.
    """

    name: str
    diff: str = ""
    why: str = ""
    code: Markup | None = None


@router.post("")
async def decide(
    job_id: str, request: Request, services: ServicesDep, visitor: Reviewer
) -> Response:
    """Decide; the job's page shows the outcome."""
    loaded = await find_job(services, visitor.credential, job_id)
    sent = await form_values(request, services.settings, lists=LISTS)
    given = {name: sent[name] for name in DECISION if name in sent}
    if sent.get(COMMENTS):
        given[COMMENTS] = _comments(sent[COMMENTS])
    asked = as_request(ReviewRequest, given)
    await apply_decision(services, visitor.credential, loaded, asked)
    job = f"/app/jobs/{job_id}"
    if "hx-request" not in request.headers:
        return RedirectResponse(job, 303)
    there = urlsplit(request.headers.get("hx-current-url", job)).path == job
    return Response(status_code=204, headers={} if there else {"HX-Redirect": job})


def _comments(text: str) -> list[dict[str, Any]]:
    """The comments of the form's field. Raises Refused: 422."""
    found = {each: line_comments.parsed(each) for each in line_comments.split(text)}
    wrong = next((each for each, comment in found.items() if comment is None), None)
    if wrong is not None:
        why = f"“{wrong[:80]}” is not PATH:LINE: TEXT, as in src/a.py:12: too slow"
        refuse([FieldError(field=COMMENTS, message=why)])
    return [comment for comment in found.values() if comment is not None]


@router.get("/edit")
async def edit(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """The form to edit the last Python program that ran; it is empty if only commands ran."""
    story = await job_view.load(services, visitor, job_id)
    job = render_job(story.record, story.events, story.charges, story.now)
    programs = [run["code"] for run in job["runs"] if run.get("tool", "python") == "python"]
    code = await _text(services.blobs, programs[-1]) if programs else ""
    return await long_page("review_edit.html", visitor, job=job, code=code)


@router.get("/changes")
async def changes(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """The changes since the last pause, or since the start at the first pause."""
    story = await job_view.load(services, visitor, job_id)
    before = last_pause(story.events)
    compared = bool(before) or story.record.spec.repo is None  # else all of it is in the patch
    files = await files_since(services, story.record, before, story.events) if compared else []
    code = await _code(services, before, story.events)
    return await long_page(
        "review_changes.html",
        visitor,
        changed=[*files, *code],
        compared=compared,
        since="the last pause" if before else "the start",
    )


def last_pause(events: Sequence[Event]) -> Sequence[Event]:
    """The events up to the pause before the present one; none at the first pause."""
    known = events_since_restart(events)
    opened = [place for place, fact in enumerate(known) if fact.kind == "review_opened"]
    return known[: opened[-2]] if len(opened) > 1 else ()


async def files_since(
    services: Services, record: JobRecord, before: Sequence[Event], events: Sequence[Event]
) -> list[Changed]:
    """Every changed file, including those that are not compared."""
    here = (await manifest.load(services.blobs, record.workspace)).files
    start = await start_files(services, record)
    old = {path: entry.digest for path, entry in start.files.items()}
    old |= {name: made["digest"] for name, made in list_artifacts(before).items()}
    now = {name: made for name, made in list_artifacts(events).items() if name in here}
    names = [name for name, made in now.items() if old.get(name) != made["digest"]]
    first = [name for name in names if record.spec.repo is not None and name not in old]
    names = [name for name in names if name not in first]
    return [
        *[Changed(name, why="not changed before: see the patch") for name in first],
        *[
            await _file(services.blobs, name, old.get(name), now[name])
            for name in names[:MOST_FILES]
        ],
        *[
            Changed(name, why=f"{_what(old.get(name))}, NOT shown here")
            for name in names[MOST_FILES:]
        ],
        *[Changed(name, why="deleted") for name in sorted(old.keys() - here.keys())],
    ]


def _what(digest: str | None) -> str:
    return "changed" if digest else "new"


async def _file(blobs: Blobs, name: str, digest: str | None, made: Mapping[str, Any]) -> Changed:
    if made["size"] > MOST_BYTES or not _is_text(made["media_type"]):
        size = f"{made['media_type']}, {made['size']:,} bytes"
        return Changed(name, why=f"{_what(digest)}: {size}; not shown here")
    try:
        old = await blobs.get(digest) if digest else b""
        new = await blobs.get(made["digest"])
    except BlobMissing:
        return Changed(name, why="its bytes are missing from the artifact store")
    if digest is None:
        drawn = await asyncio.to_thread(coloured, _decoded(new), name=name)
        return Changed(name, why="new", code=drawn)
    if len(old) > MOST_BYTES:
        return Changed(name, why="changed; it was too large to show")
    return await _compared(name, _decoded(old), _decoded(new))


async def _compared(title: str, old: str, new: str) -> Changed:
    """Two texts that differ; in a thread, since comparing is slow."""
    diff = await asyncio.to_thread(diff_of, old, new)
    if diff is None:
        return Changed(title, why="changed; it would take too long to compare")
    return Changed(title, diff, "" if diff else "changed: only bytes that are not text")


def _decoded(content: bytes) -> str:
    """Bytes that are not UTF-8 are escaped, so that different contents look different."""
    return content.decode(errors="backslashreplace")


async def _code(
    services: Services, before: Sequence[Event], events: Sequence[Event]
) -> list[Changed]:
    """The change of the last run's code; none where the evidence shows all of it."""
    was, now = (
        [fact.data for fact in part if fact.kind == "run_finished"] for part in (before, events)
    )
    if not now:
        return []
    title, new = f"code of run {now[-1]['number']}", await _text(services.blobs, now[-1]["code"])
    if was:
        old = await _text(services.blobs, was[-1]["code"])
        return [await _compared(title, old, new)] if old != new else []
    if not now[-1]["code"].get("digest"):
        return []
    if len(new) > MOST_BYTES:
        return [Changed(title, why=f"{len(new):,} characters: too long to show here")]
    return [Changed(title, why="complete", code=await asyncio.to_thread(coloured, new))]


async def _text(blobs: Blobs, part: Mapping[str, Any]) -> str:
    """The complete text, of which the event may have only head and tail."""
    digest = part.get("digest")
    return (await blobs.get(digest)).decode(errors="replace") if digest else str(part["text"])


def _is_text(media_type: str) -> bool:
    kind = media_type.partition(";")[0]
    return kind.startswith("text/") or kind in (
        "application/json",
        "application/xml",
        "image/svg+xml",
    )
