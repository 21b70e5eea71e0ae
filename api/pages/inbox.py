"""A visitor's inbox: the jobs that wait for the visitor, and the page that follows a decision."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import parse_qs, urlsplit

from fastapi import Request

from api.auth.caller import keys_of_same_person
from api.pages.visitor import Visitor
from api.services import Services
from jobs.model.credentials import Scope
from jobs.model.record import JobRecord
from jobs.store import JobPage
from jobs.view.inbox import Order, next_after, sort_waiting

MAX_JOBS = 300
"""The most jobs that an inbox reads, to sort them by their wait. The jobs that were submitted first
are read."""
PARAMETER = "inbox"
"""The query parameter of a job's page that was opened from an inbox: the inbox's order."""


async def read_waiting(services: Services, visitor: Visitor, limit: int = MAX_JOBS) -> JobPage:
    """The jobs that wait for the visitor's decision, in the order of their submission."""
    if not visitor.may(Scope.REVIEW):
        return JobPage((), 0)
    person_keys = await keys_of_same_person(services, visitor.credential)
    tenant = visitor.credential.tenant
    return await services.store.page(tenant, limit=limit, offset=0, waits_for=person_keys)


def inbox_path(order: Order) -> str:
    """The address of an inbox."""
    return "/app/inbox" if order is Order.WAIT else f"/app/inbox?order={order}"


async def path_after_decision(
    request: Request, services: Services, visitor: Visitor, decided: JobRecord
) -> str:
    """The page that opens after a decision: for a job that was opened from the inbox, the next job
    of the inbox, and after its last job the inbox; otherwise the job's own page.

    `decided`: the job as it was before the decision."""
    job_page = f"/app/jobs/{decided.id}"
    order = _inbox_order(request)
    if order is None:
        return job_page
    waiting = sort_waiting((await read_waiting(services, visitor)).records, order)
    if _contains(waiting, decided):  # for example, a vote was withdrawn
        return job_page
    following = next_after(decided, waiting, order)
    if following is None:
        return inbox_path(order)
    return f"/app/jobs/{following.id}?{PARAMETER}={order}"


def _contains(waiting: Sequence[JobRecord], decided: JobRecord) -> bool:
    """Whether the review that was decided still waits for the visitor."""
    reviews = {record.review.id for record in waiting if record.review and record.id == decided.id}
    return decided.review is not None and decided.review.id in reviews


def _inbox_order(request: Request) -> Order | None:
    """The order of the inbox from which the page of this form was opened; None if it was not. A
    browser names the page: htmx in a header of its own, a form without scripts in `Referer`."""
    page = request.headers.get("hx-current-url") or request.headers.get("referer", "")
    try:
        order = parse_qs(urlsplit(page).query).get(PARAMETER, [""])[-1]
        return Order(order)
    except ValueError:  # no address, or no order
        return None
