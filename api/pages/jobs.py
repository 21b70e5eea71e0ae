"""The list of jobs: what waits for a person on top, then all of them, newest first."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Response

from api.pages import words
from api.pages.drawing import HEADERS, drawn, page
from api.pages.visitor import Reader, Visitor
from api.services import Services, ServicesDep
from jobs import view
from jobs.credentials import Scope
from jobs.record import JobRecord, Status
from jobs.redis_glance import Glance, glances

router = APIRouter()
ROWS = 25
WAITING_ROWS = 5


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which jobs a visitor wants to see, and which page of them (from 1)."""

    status: str = ""
    label: str = ""
    number: int = 1

    @property
    def any(self) -> bool:
        """Whether there is a filter at all."""
        return bool(self.status or self.label)

    def href(self, path: str = "/app", **changed: Any) -> str:
        """The address of this list, or of one with something changed."""
        asked = {"status": self.status, "label": self.label, "page": self.number, **changed}
        query = urlencode({name: value for name, value in asked.items() if value not in ("", 1)})
        return f"{path}?{query}" if query else path


async def wanted(
    status: Annotated[str, Query(pattern=f"^({'|'.join(Status)})?$")] = "",
    label: Annotated[str, Query(max_length=100)] = "",
    number: Annotated[int, Query(alias="page", ge=1, le=1_000_000)] = 1,
) -> Wanted:
    """A dependency: the query."""
    return Wanted(status, label.strip(), number)


WantedDep = Annotated[Wanted, Depends(wanted)]


@router.get("")
async def jobs(house: ServicesDep, visitor: Reader, asked: WantedDep) -> Response:
    """The page."""
    listed = await _listed(house, visitor, asked)
    return page("jobs.html", visitor, asked=asked, statuses=list(Status), **listed)


@router.get("/jobs/list")
async def rows(house: ServicesDep, visitor: Reader, asked: WantedDep, known: str = "") -> Response:
    """The list alone, for a page that looks again; 204 while it is as `known`."""
    listed = await _listed(house, visitor, asked)
    if listed["digest"] == known:
        return Response(status_code=204, headers=HEADERS)
    return page("jobs_list.html", visitor, asked=asked, titled=True, **listed)


async def _listed(house: Services, visitor: Visitor, asked: Wanted) -> dict[str, Any]:
    tenant = visitor.credential.tenant
    found, waiting = await asyncio.gather(
        house.store.page(
            tenant,
            limit=ROWS,
            offset=(asked.number - 1) * ROWS,
            status=Status(asked.status) if asked.status else None,
            label=asked.label or None,
        ),
        house.store.page(
            tenant,
            limit=WAITING_ROWS if visitor.may(Scope.REVIEW) else 1,
            offset=0,
            status=Status.AWAITING_REVIEW,
            label=None,
        ),
    )
    seen = {record.id for record in (*found.records, *waiting.records)}
    told = await glances(house.store.redis, sorted(seen))
    mine = visitor.may(Scope.REVIEW)
    values: dict[str, Any] = {
        "rows": _rows(found.records, told),
        "total": found.total,
        "pages": max(-(-found.total // ROWS), 1),
        "waiting": _rows(waiting.records, told) if mine else [],
        "waiting_total": waiting.total if mine else 0,
    }
    body = drawn("jobs_rows.html", visitor=visitor, asked=asked, **values)
    digest = hashlib.sha256(body.encode()).hexdigest()[:16]
    return {**values, "body": body, "digest": digest}


def _rows(records: Sequence[JobRecord], told: Mapping[str, Glance]) -> list[dict[str, Any]]:
    return [
        {
            **view.summary(record),
            "line": words.first_line(record.spec.task),
            "revision": told[record.id].revision,
            "spend": told[record.id].spend,
            "waits_since": view.iso(record.review.opened_at) if record.review else None,
            "waits_for": str(record.review.kind) if record.review else "",
        }
        for record in records
    ]
