"""The page with keys and tenants: create and revoke keys, limit spending."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from api.auth.caller import require_operator
from api.pages.forms import as_request, form_values
from api.pages.rendering import render_page
from api.pages.visitor import Admin, PostingAdmin, Visitor
from api.routes import keys, tenants
from api.schemas.key import DayLimits, KeyRequest, NewKey
from api.services import Services, ServicesDep
from jobs.model.credentials import FIRST_ID, Scope
from jobs.view.job import format_time

router = APIRouter(prefix="/access")
PAGE = "/app/access"
LISTS = frozenset({"scopes"})


@router.get("")
async def access(services: ServicesDep, visitor: Admin) -> Response:
    """The keys and tenants that the visitor governs."""
    return await _render(services, visitor)


@router.post("/keys")
async def create(request: Request, services: ServicesDep, visitor: PostingAdmin) -> Response:
    """Create a key. Only this answer shows its secret, so it is no redirect."""
    form = await _filled_fields(request, services)
    created = await keys.create_key(services, visitor.credential, as_request(KeyRequest, form))
    return await _render(services, visitor, created)


@router.post("/keys/{key_id}/revoke")
async def revoke(key_id: str, services: ServicesDep, visitor: PostingAdmin) -> Response:
    """Revoke a key."""
    await keys.revoke_key(services, visitor.credential, key_id)
    return RedirectResponse(PAGE, 303)


@router.post("/{kind}/{name}/limits")
async def limit(
    kind: str, name: str, request: Request, services: ServicesDep, visitor: PostingAdmin
) -> Response:
    """Replace the limits of a key or of a tenant; an empty field removes a limit."""
    caller = await require_operator(visitor.credential)
    limits = as_request(DayLimits, await _filled_fields(request, services))
    change = keys.limit_key if kind == "keys" else tenants.limit_tenant
    await change(services, caller, name, limits)
    return RedirectResponse(PAGE, 303)


async def _filled_fields(request: Request, services: Services) -> dict[str, Any]:
    """The fields of the form that are not empty."""
    form = await form_values(request, services.settings, lists=LISTS)
    return {name: value for name, value in form.items() if value}


async def _render(services: Services, visitor: Visitor, created: NewKey | None = None) -> Response:
    return render_page(
        "access.html",
        visitor,
        created=created,
        keys=await keys.list_keys(services, visitor.credential),
        tenants=await tenants.list_tenants(services, visitor.credential),
        scopes=tuple(Scope),
        first_id=FIRST_ID,
        now=format_time(await services.store.now()),
    )
