"""Stats: totals over a tenant's jobs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response

from api.auth.caller import Reader
from api.http.answers import as_csv, as_json
from api.openapi import as_table, responses
from api.schemas.stats import Stats
from api.services import Services, ServicesDep
from jobs.counting import DAYS_KEPT
from jobs.transitions.change import Counts
from jobs.view import stats as stats_view

router = APIRouter(tags=["stats"])


class Table(StrEnum):
    """The tables that can be exported as CSV."""

    DAYS = "days"
    COST = "cost"
    REVISIONS = "revisions"
    FAILURES = "failures"
    REASONS = "reasons"
    WAITS = "waits"
    STAGES = "stages"
    DIFFICULTIES = "difficulties"


COLUMNS = {
    Table.DAYS: (
        *("day", "succeeded", "failed", "cancelled", "straight", "repaired", "decisions"),
        *("cost_usd", "unpriced_calls", "unapproved", "unreported_calls", "overridden"),
    ),
    Table.COST: (
        *("day", "model", "calls", "unpriced_calls", "input_tokens", "output_tokens"),
        *("cost_usd", "unreported_calls"),
    ),
    Table.REVISIONS: ("revisions", "jobs"),
    Table.FAILURES: ("class", "runs"),
    Table.REASONS: ("reason", "jobs"),
    Table.WAITS: ("up_to_seconds", "reviews"),
    Table.STAGES: ("stage", "jobs", "seconds", "mean_seconds"),
    Table.DIFFICULTIES: ("difficulty", "jobs", "approved", "mean_cost_usd"),
}


@router.get(
    "/stats",
    operation_id="read_stats",
    response_model=Stats,
    summary="Read statistics",
    responses={**as_table("JSON or CSV, by `format`"), **responses()},
)
async def stats(
    services: ServicesDep,
    caller: Reader,
    days: Annotated[int, Query(ge=1, le=DAYS_KEPT)] = 30,
    form: Annotated[Literal["json", "csv"], Query(alias="format")] = "json",
    table: Annotated[Table, Query(description="the table of a CSV")] = Table.DAYS,
) -> Response:
    """The last `days` days (UTC), including today. Jobs count when they end, reviews when they are
    decided. The totals are kept for 400 days, longer than the jobs themselves.

    JSON has everything; a CSV has one `table`.
    """
    counts = await read(services, caller.tenant, days)
    if form == "csv":
        return as_csv(f"fettle-{table}", COLUMNS[table], stats_view.TABLES[table](counts))
    return as_json(Stats.model_validate(await totals(services, caller.tenant, counts)))


async def totals(services: Services, tenant: str, counts: Mapping[str, Counts]) -> dict[str, Any]:
    """The fields of Stats."""
    standing, workers = await asyncio.gather(
        services.store.counts_of_tenant(tenant), services.store.workers()
    )
    stats = stats_view.render_stats(counts, {str(status): n for status, n in standing.items()})
    announced = workers[0].get("models", {}) if workers else {}
    return {**stats, "savings": stats_view.savings(stats["models"], announced)}


async def read(services: Services, tenant: str, days: int) -> dict[str, Counts]:
    """The counts of the last days, oldest first."""
    today = datetime.fromtimestamp(await services.store.now() / 1000, UTC).date()
    names = [(today - timedelta(days=age)).isoformat() for age in range(days - 1, -1, -1)]
    counts = await services.store.day_counts.days(tenant, names)
    return dict(zip(names, counts, strict=True))
