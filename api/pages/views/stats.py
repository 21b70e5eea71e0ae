"""Numbers: what the jobs of a tenant add up to, as charts and tables."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from api.pages.format.costs import by_model
from api.pages.rendering import page
from api.pages.visitor import Reader
from api.routes import stats as asked_over_http
from api.routes.stats import Table
from api.services import ServicesDep
from jobs import numbers_view
from jobs.numbers import DAYS_KEPT

router = APIRouter(prefix="/numbers")

SPANS = (7, 30, 90, 365)
Days = Annotated[int, Query(ge=1, le=DAYS_KEPT)]


@router.get("")
async def numbers(house: ServicesDep, visitor: Reader, days: Days = 30) -> Response:
    """The page."""
    tenant = visitor.credential.tenant
    found = await asked_over_http.read(house, tenant, days)
    standing = await house.store.standing(tenant)
    told = numbers_view.whole(found, {str(status): count for status, count in standing.items()})
    costs = by_model(told["cost"], list(found))
    reasons = numbers_view.table("reasons", found)
    return page(
        "numbers.html", visitor, told=told, costs=costs, reasons=reasons, days=days, spans=SPANS
    )


@router.get("/{table}.csv")
async def table(table: Table, house: ServicesDep, visitor: Reader, days: Days = 30) -> Response:
    """One of the tables as CSV."""
    return await asked_over_http.numbers(house, visitor.credential, days, "csv", table)
