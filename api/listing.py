"""A page of a tenant's jobs by the filters of a query. The JSON API and the pages use it."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query
from pydantic import AfterValidator, BeforeValidator

from api.auth.caller import keys_of_same_person
from api.http.field_errors import problem_of, refuse
from api.http.times import check_order, to_ms
from api.schemas.job import JobList, JobSummary
from api.schemas.problem import FieldError
from api.services import Services, fleet_for
from jobs.model.credentials import Credential, Scope
from jobs.model.record import Status
from jobs.model.spec import JobKind, repository_name
from jobs.store import Cursor, JobPage
from jobs.store.listing import ALWAYS, Period
from jobs.view.inbox import Order
from jobs.view.job import render_summary

EMPTY_IS_NONE = BeforeValidator(lambda value: (value.strip() or None) if value else None)
"""An empty parameter, as in `?status=&label=`, is no filter."""
LISTED_FIELDS = ("label", "person", "model", "repository", "conversation", "batch")
"""The fields by which the store lists jobs."""
Text = Annotated[str | None, Query(max_length=2_000), EMPTY_IS_NONE]
Repository = Annotated[Text, AfterValidator(lambda value: value and repository_name(value))]
Time = Annotated[datetime | None, EMPTY_IS_NONE]
CursorText = Annotated[
    str | None,
    Query(max_length=200, description="the `next` of the page before, with the same filters"),
]


@dataclass(frozen=True, slots=True)
class JobFilters:
    """The filters of a list of jobs, as parameters of a query: see `GET /jobs`."""

    status: Annotated[Status | None, EMPTY_IS_NONE] = None
    label: Annotated[str | None, Query(max_length=100), EMPTY_IS_NONE] = None
    person: Text = None
    model: Text = None
    repository: Repository = None
    conversation: Text = None
    batch: Text = None
    text: Annotated[str | None, Query(max_length=200), EMPTY_IS_NONE] = None
    start: Annotated[Time, Query(alias="from")] = None
    end: Annotated[Time, Query(alias="to")] = None
    kind: Annotated[JobKind | None, EMPTY_IS_NONE] = None
    waiting: Annotated[Literal["me", "mine"] | None, EMPTY_IS_NONE] = None
    override: Annotated[Literal["true"] | None, EMPTY_IS_NONE] = None
    sort: Annotated[Literal["newest", "oldest"] | None, EMPTY_IS_NONE] = None

    @property
    def parameters(self) -> dict[str, str]:
        """The filters by the names of their parameters."""
        values = asdict(self)
        values["from"], values["to"] = values.pop("start"), values.pop("end")
        return {
            name: value.isoformat() if isinstance(value, datetime) else str(value)
            for name, value in values.items()
            if value is not None
        }


def read_cursor(text: str | None, offset: int) -> Cursor | None:
    """The position in a query. Raises RefusedRequest: 422."""
    if text is None:
        return None
    if offset:
        refuse([FieldError(field="cursor", message="send either a cursor or an offset")])
    try:
        return Cursor.parse(text)
    except ValueError:
        message = "this is no cursor: take the `next` of an answer, or begin without a cursor"
        raise problem_of([FieldError(field="cursor", message=message)]) from None


async def read_page(
    services: Services,
    caller: Credential,
    filters: JobFilters,
    limit: int,
    offset: int,
    cursor: Cursor | None = None,
    *,
    first_of_conversations: bool = False,
) -> JobPage:
    """The page of the caller's tenant; with `first_of_conversations`, only of jobs that begin a
    conversation. Raises RefusedRequest: 422, 429, 503."""
    check_order(filters.start, filters.end)
    if filters.waiting and not caller.may(Scope.REVIEW):
        return JobPage((), 0)
    period = Period(*(None if at is None else to_ms(at) for at in (filters.start, filters.end)))
    listed = {name: getattr(filters, name) for name in LISTED_FIELDS}
    if first_of_conversations:
        listed["conversations"] = ""
    terms = (filters.status, filters.override, *listed.values())
    conditions = sum(term is not None for term in terms)
    searches = filters.text or filters.waiting or period != ALWAYS or conditions > 1
    with services.searches.slot(caller.id) if searches else contextlib.nullcontext():
        return await services.store.page(
            caller.tenant,
            limit=limit,
            offset=offset,
            status=filters.status,
            text=filters.text or "",
            kind=filters.kind or JobKind.TASK,
            override=filters.override is not None,
            waits_for=await keys_of_same_person(services, caller) if filters.waiting else None,
            order=Order.WAIT,
            assignee=caller.person if filters.waiting == "mine" else "",
            period=period,
            oldest_first=None if filters.sort is None else filters.sort == "oldest",
            cursor=cursor,
            **listed,
        )


async def list_jobs(
    services: Services, page: JobPage, limit: int, offset: int, cursor: Cursor | None = None
) -> JobList:
    """The answer with the jobs of a page."""
    now = await services.store.now() if page.records else 0
    fleet = await fleet_for(services, page.records)
    jobs = [
        JobSummary(
            **render_summary(record, page.charges.get(record.id, ()), now, fleet),
            links={"self": f"/jobs/{record.id}"},
        )
        for record in page.records
    ]
    return JobList(
        jobs=jobs,
        total=page.total,
        total_exact=page.is_exact,
        limit=limit,
        offset=cursor.count if cursor else offset,
        next=page.next and str(page.next),
    )
