"""The inbox: the jobs that wait for the visitor's decision."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Response

from api.pages.format import words
from api.pages.inbox import InboxDep, InboxView, read_waiting
from api.pages.polling import render_polled, unchanged
from api.pages.rendering import render_page_in_thread
from api.pages.visitor import Reader, Visitor
from api.services import Services, ServicesDep
from jobs.model.record import JobRecord
from jobs.store import JobPage
from jobs.view.job import render_summary

router = APIRouter(prefix="/inbox")


@router.get("")
async def inbox(services: ServicesDep, visitor: Reader, view: InboxDep) -> Response:
    """The page."""
    listed = await _list_values(services, visitor, view)
    return await render_page_in_thread("inbox.html", visitor, **listed)


@router.get("/list")
async def rows(services: ServicesDep, visitor: Reader, view: InboxDep, known: str = "") -> Response:
    """Only the list, for a page that polls; 204 if the page has this list already.

    `known`: see `render_polled`; its mark counts the changes of the tenant's jobs."""
    mark, _, digest = known.partition("-")
    if mark == str(await services.store.changes(visitor.credential.tenant)):
        return unchanged()
    listed = await _list_values(services, visitor, view)
    if listed["known"].partition("-")[2] == digest:
        return unchanged(listed["known"])
    return await render_page_in_thread("inbox_list.html", visitor, titled=True, **listed)


@router.get("/count")
async def count(services: ServicesDep, visitor: Reader) -> Response:
    """The number of waiting jobs, for the navigation of a page that does not read them itself."""
    waiting = await read_waiting(services, visitor, InboxView(), limit=0)
    return await render_page_in_thread(
        "inbox_count.html", visitor, waiting_total=waiting.total, waiting_exact=waiting.is_exact
    )


async def _list_values(services: Services, visitor: Visitor, view: InboxView) -> dict[str, Any]:
    # First, so that the next poll sees a change during the reads below.
    mark = str(await services.store.changes(visitor.credential.tenant))
    page, now = await asyncio.gather(read_waiting(services, visitor, view), services.store.now())
    values: dict[str, Any] = {
        "view": view,
        "rows": await asyncio.to_thread(_rows, page, now),
        "waiting_total": page.total,
        "waiting_exact": page.is_exact,
    }
    return {**values, **await render_polled("inbox_rows.html", mark, visitor=visitor, **values)}


def _rows(page: JobPage, now: int) -> list[dict[str, Any]]:
    return [
        {
            **render_summary(record, page.charges.get(record.id, ()), now),
            "line": words.first_line(record.spec.task),
            "repository": _repository(record),
            "patch": record.review.payload.get("patch") if record.review else None,
        }
        for record in page.records
    ]


def _repository(record: JobRecord) -> str:
    """The repository's address without its scheme; empty for a job without a repository."""
    if (repo := record.spec.repo) is None:
        return ""
    return words.repository_name(repo.url) if repo.url else "uploaded repository"
