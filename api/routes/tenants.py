"""Tenants, and their spending limits per day."""

from __future__ import annotations

import re
from dataclasses import asdict

import structlog
from fastapi import APIRouter, Request, Response

from api import problems
from api.auth.caller import Admin, Operator
from api.http.answers import as_json
from api.http.body import read_json
from api.openapi import body_responses, responses, with_body
from api.problems import RefusedRequest
from api.routes.keys import spent_today
from api.schemas import patterns
from api.schemas.key import DayLimits, Tenant, TenantList
from api.services import Services, ServicesDep
from jobs.audit.entries import Actor
from jobs.model.credentials import OPERATOR, TenantLimits

log = structlog.get_logger(__name__)
router = APIRouter(tags=["keys"])


@router.get(
    "/tenants",
    operation_id="list_tenants",
    response_model=TenantList,
    summary="List tenants",
    responses=responses(),
)
async def listing(services: ServicesDep, caller: Admin) -> Response:
    """Your tenant with its limits; for the operator, all tenants with a key or limits."""
    names = {caller.tenant}
    if caller.operates:
        keys = await services.credentials.list_all()
        names |= {OPERATOR, *await services.credentials.tenants(), *(key.tenant for key in keys)}
    return as_json(
        TenantList(tenants=[await _tenant_json(services, name) for name in sorted(names)])
    )


@router.put(
    "/tenants/{tenant}/limits",
    operation_id="limit_tenant",
    response_model=Tenant,
    summary="Set what a tenant's jobs may spend on a day",
    responses=body_responses(problems.NOT_FOUND),
    openapi_extra=with_body(DayLimits),
)
async def limit(tenant: str, request: Request, services: ServicesDep, caller: Operator) -> Response:
    """Replace both limits, which apply to all its keys together, within seconds. Only the operator
    may do this. The tenant needs no key yet."""
    body, _ = await read_json(request, DayLimits, services.settings)
    if not re.fullmatch(patterns.TENANT, tenant):
        raise RefusedRequest(
            problems.NOT_FOUND, "no tenant can have this name: 1 to 63 of a-z, 0-9, _ and -"
        )
    limits = TenantLimits(body.max_cost_usd_per_day, body.max_tokens_per_day)
    await services.credentials.limit_tenant(tenant, limits, Actor.of(caller))
    log.info("tenant limited", limited_tenant=tenant, **body.model_dump())
    return as_json(await _tenant_json(services, tenant))


async def _tenant_json(services: Services, name: str) -> Tenant:
    limits = asdict(await services.credentials.tenant(name))
    spent = await services.store.budgets.of_tenant_today(name)
    return Tenant(name=name, **limits, spent_today=spent_today(spent))
