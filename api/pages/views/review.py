"""The review on a job's page: what changed since the last pause, and the decision."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request, Response
from markupsafe import Markup

from api.pages import form
from api.pages.format import job_view
from api.pages.format.code import coloured
from api.pages.format.difference import Row, side_by_side
from api.pages.rendering import long_page
from api.pages.visitor import Reader, Reviewer
from api.routes.lookup import find_job
from api.routes.reviews import settle
from api.schemas.review import ReviewRequest
from api.services import Services, ServicesDep
from jobs.blobs import manifest
from jobs.blobs.directory import Blobs
from jobs.errors import BlobMissing
from jobs.model.events import Event, current
from jobs.model.record import JobRecord
from jobs.view import job as view

router = APIRouter(prefix="/jobs/{job_id}/review")

MOST_FILES = 20
MOST_BYTES = 256 * 1024
TURNS = 2
"""Of a conversation's turns: a job that has ended is the newest itself."""
LISTS = frozenset({"answers"})
DECISION = ("action", "feedback", "code", "review_id", "digest", *LISTS)


@dataclass(frozen=True, slots=True)
class Changed:
    """A file, or the code of the last run: at the last pause and now, side by side; as `code` where
    there was none before; else `why` says what happened to it."""

    name: str
    rows: Sequence[Row] = ()
    why: str = ""
    code: Markup | None = None


@router.post("")
async def decide(
    job_id: str, request: Request, services: ServicesDep, visitor: Reviewer
) -> Response:
    """Decide; the page shows the outcome by itself."""
    loaded = await find_job(services, visitor.credential, job_id)
    sent = await form.fields(request, services.settings, lists=LISTS)
    asked = form.checked(ReviewRequest, {name: sent[name] for name in DECISION if name in sent})
    await settle(services, visitor.credential, loaded, asked)
    return Response(status_code=204)


@router.get("/edit")
async def edit(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """The form to change the code of the last run, with the whole of it."""
    story = await job_view.load(services, visitor, job_id)
    job = view.whole(story.record, story.events, story.charges, story.now)
    code = await _text(services.blobs, job["runs"][-1]["code"]) if job["runs"] else ""
    return await long_page("review_edit.html", visitor, job=job, code=code)


@router.get("/changes")
async def changes(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """What is not as it was at the last pause, or, at the first one, as it was brought."""
    story = await job_view.load(services, visitor, job_id)
    before = last_pause(story.events)
    files = await files_since(services, story.record, before, story.events)
    code = await _code(services, before, story.events)
    return await long_page(
        "review_changes.html",
        visitor,
        changed=[*files, *code],
        since="the last pause" if before else "the start",
    )


def last_pause(events: Sequence[Event]) -> Sequence[Event]:
    """The events up to the pause before the present one; none where there was no other."""
    known = current(events)
    opened = [place for place, fact in enumerate(known) if fact.kind == "review_opened"]
    return known[: opened[-2]] if len(opened) > 1 else ()


async def files_since(
    services: Services, record: JobRecord, before: Sequence[Event], events: Sequence[Event]
) -> list[Changed]:
    """Every file that is not as it was: what is not compared is named all the same."""
    here = (await manifest.load(services.blobs, record.workspace)).files
    old = await _at_start(services, record)
    old |= {name: made["digest"] for name, made in view.artifacts(before).items()}
    now = {name: made for name, made in view.artifacts(events).items() if name in here}
    names = [name for name, made in now.items() if old.get(name) != made["digest"]]
    return [
        *[
            await _file(services.blobs, name, old.get(name), now[name])
            for name in names[:MOST_FILES]
        ],
        *[
            Changed(name, why=f"{_what(old.get(name))}, NOT compared here")
            for name in names[MOST_FILES:]
        ],
        *[Changed(name, why="deleted") for name in sorted(old.keys() - here.keys())],
    ]


async def _at_start(services: Services, record: JobRecord) -> dict[str, str]:
    """Digests of the files that the job began with, by path: those that the job before it in its
    conversation left, with its own over them."""
    turns = await services.store.conversation(record.tenant, record.conversation_id, TURNS)
    left = next((turn.workspace for turn in turns if turn.job_id != record.id), None)
    found = [await manifest.load(services.blobs, one) for one in (left, record.spec.workspace)]
    return {path: entry.digest for part in found for path, entry in part.files.items()}


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
        return Changed(name, why="its bytes are gone from the artifact store")
    if digest is None:
        drawn = await asyncio.to_thread(coloured, _decoded(new), name=name)
        return Changed(name, why="new", code=drawn)
    if len(old) > MOST_BYTES:
        return Changed(name, why="changed; it was too large to show")
    return await _compared(name, _decoded(old), _decoded(new), name)


async def _compared(title: str, old: str, new: str, name: str = "code.py") -> Changed:
    """Two texts that differ; in a thread, as comparing takes its time."""
    rows = await asyncio.to_thread(side_by_side, old, new, name)
    if rows is None:
        return Changed(title, why="changed; too large to show")
    return Changed(
        title,
        rows,
        "" if rows else "changed: only how its last line ends, or bytes that are no text",
    )


def _decoded(content: bytes) -> str:
    """What is no UTF-8 is spelled out, so that no two contents look the same."""
    return content.decode(errors="backslashreplace")


async def _code(
    services: Services, before: Sequence[Event], events: Sequence[Event]
) -> list[Changed]:
    """The code of the last run; the evidence shows it where it is not compared and not cut."""
    was, now = (
        [fact.data for fact in part if fact.kind == "run_finished"] for part in (before, events)
    )
    if not now:
        return []
    title, new = f"what ran (run {now[-1]['number']})", await _text(services.blobs, now[-1]["code"])
    if was:
        old = await _text(services.blobs, was[-1]["code"])
        return [await _compared(title, old, new)] if old != new else []
    if not now[-1]["code"].get("digest"):
        return []
    if len(new) > MOST_BYTES:
        return [Changed(title, why=f"{len(new):,} characters: too long to show here")]
    return [Changed(title, why="the whole", code=await asyncio.to_thread(coloured, new))]


async def _text(blobs: Blobs, part: Mapping[str, Any]) -> str:
    """A text that an event may have only the head and tail of."""
    digest = part.get("digest")
    return (await blobs.get(digest)).decode(errors="replace") if digest else str(part["text"])


def _is_text(media_type: str) -> bool:
    kind = media_type.partition(";")[0]
    return kind.startswith("text/") or kind in (
        "application/json",
        "application/xml",
        "image/svg+xml",
    )
