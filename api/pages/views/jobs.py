"""The list of jobs, newest first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response

from api import problems
from api.listing import JobFilters, read_page
from api.pages.format import words
from api.pages.forms import as_request, form_values, split_labels
from api.pages.inbox import InboxView, read_waiting
from api.pages.polling import render_polled, unchanged
from api.pages.rendering import render_page, render_page_in_thread
from api.pages.visitor import Reader, Submitter, Visitor
from api.problems import RefusedRequest
from api.routes import jobs as jobs_api
from api.schemas.job_request import LabelsRequest, RetryRequest
from api.services import Services, ServicesDep, find_job, fleet_for
from api.submission import new_jobs
from jobs.model.credentials import Scope
from jobs.model.record import JobRecord, Status
from jobs.model.spec import JobKind
from jobs.store import JobPage
from jobs.view.job import render_summary
from jobs.view.queueing import FleetState

router = APIRouter()
ROWS = 25
CHANGES_OF_LABELS = ("add", "remove", "undo")
BUSY_SECONDS, QUIET_SECONDS = 4, 30
"""The list is read again after this time even if no change was counted: the cost of a running job
is not counted as a change."""


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The filters of a list of jobs, as parameters of its address, and the page's number (from
    1)."""

    filters: JobFilters
    parameters: Mapping[str, str]
    number: int

    def href(self, path: str = "/app", page: int = 1, **changed: str) -> str:
        """The address of the first page, or of another page, of this list or of one with something
        changed; an empty value removes a filter."""
        values = {**self.parameters, **changed, "page": "" if page == 1 else str(page)}
        query = urlencode({name: value for name, value in values.items() if value})
        return f"{path}?{query}" if query else path


async def list_query(
    filters: Annotated[JobFilters, Depends()],
    number: Annotated[int, Query(alias="page", ge=1, le=1_000_000)] = 1,
) -> ListQuery:
    """A dependency: the query."""
    return ListQuery(filters, filters.parameters, number)


ListQueryDep = Annotated[ListQuery, Depends(list_query)]


@router.get("")
async def jobs(services: ServicesDep, visitor: Reader, query: ListQueryDep) -> Response:
    """The page."""
    listed = await _list_values(services, visitor, query)
    return await render_page_in_thread(
        "jobs.html", visitor, query=query, statuses=list(Status), kinds=list(JobKind), **listed
    )


@router.get("/jobs/list")
async def rows(
    services: ServicesDep, visitor: Reader, query: ListQueryDep, known: str = ""
) -> Response:
    """Only the list, for a page that polls; 204 if the page has this list already.

    `known` has the mark of the tenant's jobs and the digest of the list on the page, as
    MARK-DIGEST. Usually the mark shows, by two small reads, that no job has changed. The digest
    shows that the changed jobs are not on the page.
    """
    mark, _, digest = known.partition("-")
    version, now = await _standing(services, visitor)
    if mark in (_mark(version, now, BUSY_SECONDS), _mark(version, now, QUIET_SECONDS)):
        return unchanged()
    listed = await _list_values(services, visitor, query)
    if listed["known"].partition("-")[2] == digest:
        return unchanged(listed["known"])
    return await render_page_in_thread(
        "jobs_list.html", visitor, query=query, titled=True, **listed
    )


@router.post("/jobs/selected")
async def act_on_selected(request: Request, services: ServicesDep, visitor: Submitter) -> Response:
    """Cancel or retry the selected jobs, or change their labels; the page shows each outcome."""
    form = await form_values(request, services.settings, lists=frozenset({"job"}))
    outcomes = []
    for job_id in form.get("job", ()):
        outcome: dict[str, Any] = {"id": job_id, "line": job_id, "error": "", "labels": None}
        outcomes.append(outcome)
        try:
            record = (await find_job(services, visitor.credential, job_id)).record
            if visitor.may(Scope.READ):
                outcome["line"] = words.first_line(record.spec.task)
            outcome["id"] = await _act(request, services, visitor, record, form)
            if form["action"] in CHANGES_OF_LABELS:
                outcome["labels"] = json.dumps(record.spec.labels)
        except RefusedRequest as refused:
            outcome["error"] = refused.detail
    return render_page("jobs_selected.html", visitor, outcomes=outcomes, back=form.get("back", ""))


async def _act(
    request: Request,
    services: Services,
    visitor: Visitor,
    record: JobRecord,
    form: Mapping[str, Any],
) -> str:
    """Act on a job as the form says. Returns the id of the job, or of its retry. Raises
    RefusedRequest."""
    labels = split_labels(form.get("labels", ""))
    match form.get("action"):
        case "cancel":
            await jobs_api.cancel(record.id, services, visitor.credential)
        case "retry":
            terms, request_id = RetryRequest(), request.scope["request_id"]
            submitted = await new_jobs.retry(
                services, visitor.credential, record.id, terms, request_id
            )
            return submitted.record.id
        case "add" | "remove" | "undo" as action:

            def change(present: Sequence[str]) -> LabelsRequest:
                remaining = [label for label in present if label not in labels]
                values = remaining + (labels if action == "add" else [])
                if action == "undo":  # the labels from before the change
                    values = _labels_before(form.get(f"labels-{record.id}", ""))
                return as_request(LabelsRequest, {"labels": values})

            await jobs_api.relabel(services, visitor.credential, record.id, change)
        case _:
            raise RefusedRequest(problems.BAD_REQUEST, "the form names no action")
    return record.id


def _labels_before(text: str) -> Any:
    """The labels in a field of the form that undoes a change: a label may have commas."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise RefusedRequest(problems.BAD_REQUEST, "the form has no labels of this job") from None


async def _standing(services: Services, visitor: Visitor) -> tuple[int, int]:
    tenant = visitor.credential.tenant
    return await asyncio.gather(services.store.changes(tenant), services.store.now())


def _mark(version: int, now: int, seconds: int) -> str:
    """Identifies the state of a tenant's jobs; it changes after `seconds` at the latest."""
    return f"{version}.{seconds}.{now // (seconds * 1000)}"


async def _list_values(services: Services, visitor: Visitor, query: ListQuery) -> dict[str, Any]:
    # First, so that the next poll sees a change during the reads below.
    version, then = await _standing(services, visitor)
    page, waiting, now = await asyncio.gather(
        read_page(services, visitor.credential, query.filters, ROWS, (query.number - 1) * ROWS),
        read_waiting(services, visitor, InboxView(), limit=0),
        services.store.now(),
    )
    values = {
        **page_values(page, now, await fleet_for(services, page.records)),
        "waiting_total": waiting.total,
        "waiting_exact": waiting.is_exact,
    }
    is_busy = any(not record.status.final for record in page.records)
    mark = _mark(version, then, BUSY_SECONDS if is_busy else QUIET_SECONDS)
    rows = await render_polled("jobs_rows.html", mark, visitor=visitor, query=query, **values)
    return {**values, **rows}


def page_values(page: JobPage, now: int, fleet: FleetState | None) -> dict[str, Any]:
    """The values of the template of a list: the rows have the form of `render_summary`, with the
    first `line` of the task."""
    rows = [
        {
            **render_summary(record, page.charges.get(record.id, ()), now, fleet),
            "line": words.first_line(record.spec.task),
        }
        for record in page.records
    ]
    pages = max(-(-page.total // ROWS), 1)
    return {"rows": rows, "total": page.total, "exact": page.is_exact, "pages": pages}
