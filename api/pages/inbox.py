"""A visitor's inbox: its address, its jobs, and the page that follows a decision."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import parse_qs, urlsplit

from fastapi import Depends, Query, Request

from api.auth.caller import keys_of_same_person
from api.pages.visitor import Visitor
from api.services import Services
from jobs.model.credentials import Scope
from jobs.model.record import JobRecord
from jobs.store import JobPage
from jobs.view.inbox import Order, WaitingReview, next_after

MAX_ROWS = 100
"""The most jobs that an inbox shows: the first ones in its order."""


@dataclass(frozen=True, slots=True)
class InboxView:
    """An inbox as its address names it."""

    order: Annotated[Order, Query()] = Order.WAIT
    mine: Annotated[bool, Query(description="only the reviews that the visitor has claimed")] = (
        False
    )

    def path(self, page: str = "/app/inbox", **changed: Any) -> str:
        """The address of the inbox, or of a `page` that is opened from it, such as a job's."""
        view = replace(self, **changed)
        return f"{page}?order={view.order}{'&mine=1' if view.mine else ''}"

    def assignee(self, visitor: Visitor) -> str:
        """The person who has claimed the reviews of this inbox; '': any or no person."""
        return visitor.credential.person if self.mine else ""


InboxDep = Annotated[InboxView, Depends()]


async def read_waiting(
    services: Services, visitor: Visitor, view: InboxView, limit: int = MAX_ROWS
) -> JobPage:
    """The jobs that wait for the visitor's decision."""
    if not visitor.may(Scope.REVIEW):
        return JobPage((), 0)
    person_keys = await keys_of_same_person(services, visitor.credential)
    tenant = visitor.credential.tenant
    return await services.store.page(
        tenant,
        limit=limit,
        offset=0,
        waits_for=person_keys,
        order=view.order,
        oldest_first=None if limit else True,  # a count needs no order of the reviews
        assignee=view.assignee(visitor),
    )


async def path_after_decision(
    request: Request,
    services: Services,
    visitor: Visitor,
    decided: JobRecord,
    snoozed: Collection[str],
) -> str:
    """The page that opens after a decision: for a job that was opened from the inbox, the next job
    of the inbox, and after its last job the inbox; otherwise the job's own page.

    `decided`: the job as it was before the decision. `snoozed`: ids of jobs that the browser
    hides."""
    job_page = f"/app/jobs/{decided.id}"
    view = _opened_from(request)
    if view is None:
        return job_page
    person_keys = await keys_of_same_person(services, visitor.credential)
    waiting, _, _ = await services.store.inbox(
        visitor.credential.tenant, person_keys, view.order, view.assignee(visitor)
    )
    review = WaitingReview.of(decided)
    if review in waiting:  # for example, a vote was withdrawn
        return job_page
    visible = [entry for entry in waiting if entry.job_id not in snoozed]
    following = next_after(review, visible, view.order)
    return view.path(f"/app/jobs/{following.job_id}") if following else view.path()


def _opened_from(request: Request) -> InboxView | None:
    """The inbox from which the page of this form was opened; None if it was not. A browser names
    the page: htmx in a header of its own, a form without scripts in `Referer`."""
    page = request.headers.get("hx-current-url") or request.headers.get("referer", "")
    try:
        query = parse_qs(urlsplit(page).query)
        return InboxView(Order(query.get("order", [""])[-1]), "mine" in query)
    except ValueError:  # no address, or no order
        return None
