"""Pages for admins and the operator: keys and tenants, settings and a test of the models.

They show the answers of the JSON API, and pass their forms on to it.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from api.auth.caller import require_operator
from api.pages.rendering import render_page
from api.pages.views.deployment import offered_models
from api.pages.visitor import Admin, PostingAdmin, Visitor
from api.routes import fleet, keys, models, tenants
from api.schemas.job_defaults import JobDefaults
from api.services import Services, ServicesDep
from jobs.view.job import format_time
from settings.starting.provenance import trace_values

router = APIRouter()


@router.get("/access")
async def access(services: ServicesDep, visitor: Admin) -> Response:
    """The keys and tenants that the visitor governs."""
    return await _render_access(services, visitor)


@router.post("/access/keys")
async def create_key(request: Request, services: ServicesDep, visitor: PostingAdmin) -> Response:
    """Create a key. Only this answer shows its secret, so it is no redirect."""
    created = await keys.create(request, services, visitor.credential)
    return await _render_access(services, visitor, _plain(created))


@router.post("/access/keys/{key_id}/revoke")
async def revoke_key(key_id: str, services: ServicesDep, visitor: PostingAdmin) -> Response:
    """Revoke a key."""
    await keys.revoke(key_id, services, visitor.credential)
    return RedirectResponse("/app/access", 303)


@router.post("/access/tenants/{tenant}/limits")
async def limit_tenant(
    tenant: str, request: Request, services: ServicesDep, visitor: PostingAdmin
) -> Response:
    """Replace the limits of a tenant; an empty field removes a limit."""
    await tenants.limit(tenant, request, services, await require_operator(visitor.credential))
    return RedirectResponse("/app/access", 303)


@router.get("/settings")
async def settings(services: ServicesDep, visitor: Admin) -> Response:
    """The settings of all processes, and the defaults for new jobs."""
    return await _render_settings(services, visitor)


@router.post("/settings")
async def set_defaults(request: Request, services: ServicesDep, visitor: PostingAdmin) -> Response:
    """Change the defaults for new jobs; an empty field removes a default."""
    await fleet.change_fleet(request, services, await require_operator(visitor.credential))
    return RedirectResponse("/app/settings", 303)


@router.post("/settings/check")
async def check(request: Request, services: ServicesDep, visitor: PostingAdmin) -> Response:
    """Have a worker check a model, and show the result."""
    caller = await require_operator(visitor.credential)
    checked = _plain(await models.check(request, services, caller))
    return await _render_settings(services, visitor, checked["models"])


async def _render_access(services: Services, visitor: Visitor, created: Any = None) -> Response:
    return render_page(
        "access.html",
        visitor,
        created=created,
        keys=_plain(await keys.listing(services, visitor.credential))["keys"],
        tenants=_plain(await tenants.listing(services, visitor.credential))["tenants"],
        now=format_time(await services.store.now()),
    )


async def _render_settings(services: Services, visitor: Visitor, checked: Any = ()) -> Response:
    caller = await require_operator(visitor.credential)
    workers = await services.store.workers()
    return render_page(
        "settings.html",
        visitor,
        fleet=_plain(await fleet.fleet(services, caller)),
        terms={name: field.description for name, field in JobDefaults.model_fields.items()},
        offers=await offered_models(services),
        checked=checked,
        processes={
            "the API": trace_values(services.settings, {}),
            **{worker["id"]: worker["settings"] for worker in workers if "settings" in worker},
        },
    )


def _plain(answer: Response) -> Any:
    return json.loads(bytes(answer.body))
