"""Decisions: who decided what, for auditors."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from api.auth.caller import Overseer
from api.http.answers import as_json
from api.http.tables import as_csv
from api.openapi import as_table, responses
from api.schemas.decision import Decided, DecidedList
from api.services import ServicesDep
from jobs import decisions
from jobs.view import iso

MOST = 1_000
router = APIRouter(tags=["review"])


@router.get(
    "/decisions",
    operation_id="list_decisions",
    response_model=DecidedList,
    summary="Export decisions",
    responses={**as_table("As asked for", "X-Total-Count"), **responses()},
)
async def listing(
    house: ServicesDep,
    caller: Overseer,
    *,
    start: Annotated[datetime | None, Query(alias="from", description="from then on")] = None,
    end: Annotated[datetime | None, Query(alias="to", description="before then; else now")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = MOST,
    offset: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
    form: Annotated[Literal["json", "csv"], Query(alias="format")] = "json",
) -> Response:
    """The decisions on your tenant's jobs, oldest first, by the time of their event.

    Times without an offset are UTC. A part is `limit` long at most; `total`, in a CSV the header
    X-Total-Count, says how many there are. They go with their jobs: export them before.
    """
    until = _ms(end) if end else await house.store.now() + 1
    found, total = await house.store.decisions.between(
        caller.tenant, _ms(start) if start else 0, until, limit=limit, offset=offset
    )
    rows = [decisions.row(each, iso(each.event.at)) for each in found]
    if form == "csv":
        headers = {"X-Total-Count": str(total)}
        return as_csv("fettle-decisions", decisions.COLUMNS, rows, headers)
    told = [Decided(**row) for row in rows]
    return as_json(DecidedList(decisions=told, total=total, limit=limit, offset=offset))


def _ms(time: datetime) -> int:
    known = time if time.tzinfo else time.replace(tzinfo=UTC)
    return int(known.timestamp() * 1000)
