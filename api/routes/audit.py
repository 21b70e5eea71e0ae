"""The audit log: an export as JSON lines, and its newest entry."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Response

from api import problems
from api.auth.caller import Admin, require_governor
from api.http.answers import as_json
from api.http.times import check_order, to_ms
from api.openapi import BINARY, responses
from api.problems import RefusedRequest
from api.schemas import patterns
from api.schemas.audit import AuditHead
from api.services import Services, ServicesDep
from jobs.model.credentials import Credential

JSON_LINES = "application/jsonl"
_BYTES = {"schema": {"type": "string", "format": "binary"}}
MOST = 1_000
"""Entries in one part of the export."""

router = APIRouter(tags=["audit"])

Tenant = Annotated[
    str | None,
    Query(pattern=patterns.TENANT, description="whose log; else your tenant's"),
]


@router.get(
    "/audit",
    operation_id="export_audit_log",
    summary="Export the audit log",
    response_class=Response,
    responses={
        200: {
            "description": "One entry a line",
            "content": dict.fromkeys((JSON_LINES, BINARY), _BYTES),
        },
        **responses(problems.NOT_FOUND),
    },
)
async def export(
    services: ServicesDep,
    caller: Admin,
    *,
    tenant: Tenant = None,
    after: Annotated[int, Query(ge=0, description="the number of an entry")] = 0,
    start: Annotated[datetime | None, Query(alias="from", description="inclusive")] = None,
    end: Annotated[datetime | None, Query(alias="to", description="exclusive")] = None,
    limit: Annotated[int, Query(ge=1, le=MOST)] = MOST,
) -> Response:
    """The entries after number `after`, oldest first, each with the hash of the entry before.

    Each line has the bytes over which its hash was computed; `fettle audit verify` checks the lines
    without the service. For the next part, send the number of the last entry as `after`. Times
    without an offset are UTC. An operator's key reads the log of each tenant.
    """
    check_order(start, end)
    name = await sealed_log(services, caller, tenant)
    log = services.store.audit
    if start is not None:
        after = max(after, await log.last_before(name, to_ms(start)))
    if end is not None:
        limit = min(limit, await log.last_before(name, to_ms(end)) - after)
    lines = await log.read(name, after, limit) if limit > 0 else ()
    return Response(b"".join(line + b"\n" for line in lines), media_type=JSON_LINES)


@router.get(
    "/audit/head",
    operation_id="read_audit_head",
    response_model=AuditHead,
    summary="The newest entry of the audit log",
    responses=responses(problems.NOT_FOUND),
)
async def head(services: ServicesDep, caller: Admin, tenant: Tenant = None) -> Response:
    """The number and the hash of the newest entry. A log that still contains this entry with this
    hash contains all entries before it, unchanged."""
    name = await sealed_log(services, caller, tenant)
    state = await services.store.audit.state(name)
    return as_json(
        AuditHead(tenant=name, first_seq=state.first_seq, seq=state.head.seq, hash=state.head.hash)
    )


async def sealed_log(services: Services, caller: Credential, tenant: str | None) -> str:
    """The tenant of a log that the caller may read, without pending entries.

    Raises RefusedRequest: 403; 404 if another tenant than the caller's has no log.
    """
    name = tenant or caller.tenant
    require_governor(caller, name)
    if name != caller.tenant and name not in await services.store.audit.tenants():
        raise RefusedRequest(problems.NOT_FOUND, f"the tenant {name} has no audit log")
    await services.store.audit.seal(name)
    return name
