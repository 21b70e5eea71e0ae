"""The page with the audit log, newest entry first."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Query, Response

from api.pages.rendering import render_page
from api.pages.visitor import Admin
from api.routes.audit import sealed_log
from api.services import ServicesDep

SHOWN = 100
"""Entries on one page."""

router = APIRouter()


@router.get("/audit")
async def audit_page(
    services: ServicesDep,
    visitor: Admin,
    tenant: str | None = None,
    before: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    """The entries before the number `before`; without it, the newest entries."""
    name = await sealed_log(services, visitor.credential, tenant)
    state = await services.store.audit.state(name)
    last = state.head.seq if before is None else min(before - 1, state.head.seq)
    after = max(last - SHOWN, state.first_seq - 1, 0)
    lines = await services.store.audit.read(name, after, last - after) if last > after else ()
    return render_page(
        "audit.html",
        visitor,
        tenant=name,
        state=state,
        entries=[json.loads(line) for line in reversed(lines)],
        older=after + 1 if after >= state.first_seq > 0 else None,
    )
