"""API keys: create, list, limit, revoke; links that sign a browser in."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import structlog
from fastapi import APIRouter, Request, Response

from api import problems
from api.auth.caller import (
    Admin,
    AnyKey,
    Operator,
    Overseer,
    configured_key,
    require_governor,
    stamp_of,
)
from api.http.answers import as_json
from api.http.body import read_json
from api.openapi import body_responses, responses, with_body
from api.pages.session import LINK_SECONDS
from api.problems import RefusedRequest
from api.schemas.key import DayLimits, Key, KeyList, KeyRequest, NewKey, SignInLink, SpentToday
from api.services import Services, ServicesDep
from api.submission.decisions import release_claims
from jobs.audit.entries import Actor, EntryKind, NewEntry
from jobs.budgets import Amount, format_dollars
from jobs.model.credentials import (
    FIRST_ID,
    Credential,
    TenantLimits,
    digest_secret,
    new_id,
    new_secret,
)
from jobs.store.fleet import DAY_MS
from jobs.view.job import format_time

log = structlog.get_logger(__name__)
router = APIRouter(tags=["keys"])


@router.post(
    "/keys",
    operation_id="create_key",
    status_code=201,
    response_model=NewKey,
    summary="Make a key",
    responses=body_responses(problems.NAME_TAKEN),
    openapi_extra=with_body(KeyRequest),
)
async def create(request: Request, services: ServicesDep, caller: Admin) -> Response:
    """Create a key. Its secret is only in this answer.

    Admin keys create keys for their own tenant; the operator's, of the tenant `default`, for any
    tenant. Only the operator sets limits: a key of a tenant's admin has those of the settings.

    A key belongs to a `person` for good. If a job needs two approvals, all keys of a person have
    one vote together, and a key that one person has made for another has none, since its maker has
    seen the secret. Keys that the first key (`FETTLE_API_KEY`) has made have their vote.
    """
    key_request, _ = await read_json(request, KeyRequest, services.settings)
    tenant = key_request.tenant or caller.tenant
    require_governor(caller, tenant)
    limited = (key_request.max_cost_usd_per_day, key_request.max_tokens_per_day) != (None, None)
    if limited and not caller.operates:
        raise RefusedRequest(problems.FORBIDDEN, "only the operator sets limits of a key")
    secret, now = new_secret(), await services.store.now()
    days = key_request.expires_days
    credential = Credential(
        id=new_id(),
        name=key_request.name,
        tenant=tenant,
        scopes=tuple(dict.fromkeys(key_request.scopes)),
        created_at=now,
        created_by=caller.name,
        created_by_key=caller.id,
        person=key_request.person or key_request.name,
        expires_at=None if days is None else now + days * DAY_MS,
        max_cost_usd_per_day=key_request.max_cost_usd_per_day,
        max_tokens_per_day=key_request.max_tokens_per_day,
    )
    if not await services.credentials.add(credential, digest_secret(secret), caller.person):
        detail = f"a key of the tenant {tenant} is named {key_request.name}: revoke it first"
        raise RefusedRequest(problems.NAME_TAKEN, detail)
    log.info(
        "key created",
        key=credential.id,
        key_name=key_request.name,
        key_person=credential.person,
        key_tenant=tenant,
    )
    return as_json(
        NewKey(**_key_json(credential), secret=secret), 201, {"Cache-Control": "no-store"}
    )


@router.get(
    "/keys",
    operation_id="list_keys",
    response_model=KeyList,
    summary="List keys",
    responses=responses(),
)
async def listing(services: ServicesDep, caller: Admin) -> Response:
    """The keys that you govern, including revoked ones, without their secrets."""
    first = configured_key(services.settings)
    all_keys = [*([first] if first else []), *await services.credentials.list_all()]
    governed = [key for key in all_keys if caller.governs(key.tenant)]
    spent = await services.store.budgets.of_keys_today([key.id for key in governed])
    uses = await services.credentials.uses()
    listed = [
        Key(
            **_key_json(key),
            spent_today=spent_today(amount),
            last_used_at=format_time(uses.get(key.id)),
        )
        for key, amount in zip(governed, spent, strict=True)
    ]
    return as_json(KeyList(keys=listed))


@router.get(
    "/keys/me",
    operation_id="read_own_key",
    response_model=Key,
    summary="Your key",
    responses=responses(),
)
async def read_own(caller: AnyKey) -> Response:
    """The key that you send: its name, its tenant, its scopes, without its secret."""
    return as_json(Key(**_key_json(caller)))


@router.put(
    "/keys/{key_id}/limits",
    operation_id="limit_key",
    response_model=Key,
    summary="Set what a key's jobs may spend on a day",
    responses=body_responses(problems.NOT_FOUND, problems.CONFIGURED_KEY),
    openapi_extra=with_body(DayLimits),
)
async def limit(key_id: str, request: Request, services: ServicesDep, caller: Operator) -> Response:
    """Replace both limits. They apply within seconds, to running jobs too. Only the operator may:
    a tenant's admin could raise the tenant's own limits."""
    limits, _ = await read_json(request, DayLimits, services.settings)
    await _governed(key_id, services, caller)
    new_limits = TenantLimits(limits.max_cost_usd_per_day, limits.max_tokens_per_day)
    await services.credentials.limit(key_id, new_limits, Actor.of(caller))
    log.info("key limited", key=key_id, **limits.model_dump())
    return as_json(Key(**_key_json(await _governed(key_id, services, caller))))


@router.delete(
    "/keys/{key_id}",
    operation_id="revoke_key",
    status_code=204,
    summary="Revoke a key",
    response_class=Response,
    responses=responses(problems.NOT_FOUND, problems.CONFIGURED_KEY),
)
async def revoke(key_id: str, services: ServicesDep, caller: Admin) -> Response:
    """Revoke a key at once. Revoking it again does nothing. If the person of the key has no other
    key to review with, the open reviews that the person has claimed are released."""
    key = await _governed(key_id, services, caller)
    actor = Actor.of(caller)
    await services.credentials.revoke(key_id, await services.store.now(), actor)
    await release_claims(services, key, actor)
    log.info("key revoked", key=key_id)
    return Response(status_code=204)


async def _governed(key_id: str, services: Services, caller: Credential) -> Credential:
    """The key, if the caller may change it. Raises RefusedRequest: 404, 409."""
    if key_id == FIRST_ID and configured_key(services.settings):
        detail = "FETTLE_API_KEY sets this key, and FETTLE_KEY_COST_USD_PER_DAY limits it"
        raise RefusedRequest(problems.CONFIGURED_KEY, detail)
    key = await services.credentials.get(key_id)
    if key is None or not caller.governs(key.tenant):
        raise RefusedRequest(
            problems.NOT_FOUND, "this key does not exist: fettle keys list has the ids"
        )
    return key


def spent_today(amount: Amount) -> SpentToday | None:
    """Today's spending under a limit; None without any."""
    if amount == Amount():
        return None
    return SpentToday(cost_usd=format_dollars(amount.cost), tokens=amount.tokens)


def _key_json(credential: Credential) -> dict[str, Any]:
    times = ("created_at", "expires_at", "revoked_at")
    fields = asdict(credential)
    return fields | {name: format_time(fields[name] or None) for name in times}


@router.post(
    "/sign-in-links",
    operation_id="create_sign_in_link",
    status_code=201,
    response_model=SignInLink,
    summary="Make a link that signs in a browser",
    responses=responses(),
)
async def sign_in_link(services: ServicesDep, caller: Overseer) -> Response:
    """Make a path of this server that signs a browser in with your key: once, for a short time.

    A person who follows it acts with your key's scopes and name until the session ends.
    """
    token = await services.sessions.create_link(caller.id, stamp_of(services.settings, caller))
    entry = NewEntry(caller.tenant, EntryKind.LINK_CREATED, Actor.of(caller))
    await services.store.audit.append(entry)
    log.info("sign-in link made", key=caller.id)
    link = SignInLink(path=f"/app/sign-in/{token}", expires_seconds=LINK_SECONDS)
    return as_json(link, 201, {"Cache-Control": "no-store"})
