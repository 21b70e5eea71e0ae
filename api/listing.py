"""A page of a tenant's jobs by the filters of a query. The JSON API and the pages use it."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query
from pydantic import BeforeValidator

from api.auth.caller import keys_of_same_person
from api.http.times import check_order, to_ms
from api.schemas.job import JobList, JobSummary
from api.services import Services, fleet_for
from jobs.model.credentials import Credential, Scope
from jobs.model.record import Status
from jobs.model.spec import JobKind, repository_name
from jobs.store import JobPage
from jobs.store.listing import ALWAYS, Period
from jobs.view.inbox import Order
from jobs.view.job import render_summary

EMPTY_IS_NONE = BeforeValidator(lambda value: (value.strip() or None) if value else None)
"""An empty parameter, as in `?status=&label=`, is no filter."""
Text = Annotated[str | None, Query(max_length=200), EMPTY_IS_NONE]


@dataclass(frozen=True, slots=True)
class JobFilters:
    """The filters of a list of jobs, as parameters of a query."""

    status: Annotated[Status | None, EMPTY_IS_NONE] = None
    label: Annotated[str | None, Query(max_length=100), EMPTY_IS_NONE] = None
    person: Annotated[
        Text, Query(description="the submitter: the person of the key, or its name")
    ] = None
    model: Annotated[Text, Query(description="the model of the request")] = None
    repository: Annotated[
        str | None,
        Query(max_length=2_000, description="its URL, or its URL without the scheme"),
        EMPTY_IS_NONE,
    ] = None
    conversation: Annotated[Text, Query(description="the id of a conversation")] = None
    text: Text = None
    start: Annotated[
        datetime | None, Query(alias="from", description="inclusive"), EMPTY_IS_NONE
    ] = None
    end: Annotated[datetime | None, Query(alias="to", description="exclusive"), EMPTY_IS_NONE] = (
        None
    )
    kind: Annotated[JobKind | None, EMPTY_IS_NONE] = None
    waiting: Annotated[Literal["me"] | None, EMPTY_IS_NONE] = None
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

    @property
    def listed_values(self) -> dict[str, str | None]:
        """The values by which the store lists jobs."""
        return {
            "label": self.label,
            "person": self.person,
            "model": self.model,
            "repository": repository_name(self.repository) if self.repository else None,
            "conversation": self.conversation,
        }

    @property
    def period(self) -> Period:
        """When the jobs were submitted."""
        bounds = (None if at is None else to_ms(at) for at in (self.start, self.end))
        return Period(*bounds)


async def read_page(
    services: Services, caller: Credential, filters: JobFilters, limit: int, offset: int
) -> JobPage:
    """The page of the caller's tenant. Raises RefusedRequest: 422, 429, 503."""
    check_order(filters.start, filters.end)
    if filters.waiting and not caller.may(Scope.REVIEW):
        return JobPage((), 0)
    listed, period = filters.listed_values, filters.period
    conditions = sum(map(bool, (filters.status, filters.override, *listed.values())))
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
            period=period,
            oldest_first=None if filters.sort is None else filters.sort == "oldest",
            **listed,
        )


async def list_jobs(services: Services, page: JobPage, limit: int, offset: int) -> JobList:
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
        jobs=jobs, total=page.total, total_exact=page.is_exact, limit=limit, offset=offset
    )
