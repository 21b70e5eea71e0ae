"""The page of statistics: charts and tables of a tenant's totals."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from api.pages.format.costs import by_model
from api.pages.rendering import page
from api.pages.visitor import Reader
from api.routes import stats as asked_over_http
from api.routes.stats import Table
from api.services import ServicesDep
from jobs.counting import DAYS_KEPT
from jobs.view import stats as stats_view

router = APIRouter(prefix="/stats")

SPANS = (7, 30, 90, 365)
Days = Annotated[int, Query(ge=1, le=DAYS_KEPT)]


@router.get("")
async def stats_page(services: ServicesDep, visitor: Reader, days: Days = 30) -> Response:
    """The page."""
    tenant = visitor.credential.tenant
    found = await asked_over_http.read(services, tenant, days)
    standing = await services.store.standing(tenant)
    stats = stats_view.whole(found, {str(status): count for status, count in standing.items()})
    costs = by_model(stats["cost"], list(found))
    reasons = stats_view.table("reasons", found)
    return page(
        "stats.html", visitor, stats=stats, costs=costs, reasons=reasons, days=days, spans=SPANS
    )


@router.get("/{table}.csv")
async def table(table: Table, services: ServicesDep, visitor: Reader, days: Days = 30) -> Response:
    """One of the tables as CSV."""
    return await asked_over_http.stats(services, visitor.credential, days, "csv", table)
