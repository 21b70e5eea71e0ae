"""The caller of a request: the key in X-API-Key, its scopes, its rate limit."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import structlog
from fastapi import Depends, Request, Security
from fastapi.security import APIKeyHeader

from api import problems
from api.http.connections import counted_address
from api.http.field_errors import check_query
from api.problems import Refused
from api.services import Services, ServicesDep
from jobs.model.credentials import (
    FIRST,
    FIRST_ID,
    FIRST_NAMES,
    OPERATOR,
    Credential,
    Scope,
    digest_secret,
)
from settings.api import ApiSettings
from settings.base import DEVELOPMENT_KEY

T = TypeVar("T")

_header = APIKeyHeader(
    name="X-API-Key",
    auto_error=False,
    description=f"A key from `fettle keys create`. Development has `{DEVELOPMENT_KEY}`.",
)


def configured(settings: ApiSettings) -> Credential | None:
    """The key of the settings; it is not in Redis and cannot be revoked."""
    key = settings.first_key()
    if key is None:
        return None
    production, development = FIRST_NAMES
    name = development if key == DEVELOPMENT_KEY else production
    return replace(FIRST, name=name, person=name)


def allowed_to(*scopes: Scope) -> Callable[..., Awaitable[Credential]]:
    """A dependency: the caller, whose key has one of these scopes; else 401, 403 or 429. A query
    parameter that the route does not have is a 422."""

    async def caller(
        request: Request,
        services: ServicesDep,
        secret: Annotated[str | None, Security(_header)] = None,
    ) -> Credential:
        credential = await _known(request, services, secret)
        await admit(services, credential, *scopes)
        await check_query(request)
        return credential

    return caller


async def operator(
    caller: Annotated[Credential, Depends(allowed_to(Scope.ADMIN))],
) -> Credential:
    """A dependency: the caller, if it is the operator; else 401, 403 or 429."""
    if not caller.operates:
        detail = f"this is for the operator: it needs a key of the tenant {OPERATOR}"
        raise Refused(problems.FORBIDDEN, detail, {"scope": "admin"})
    return caller


async def admit(services: Services, credential: Credential, *scopes: Scope) -> None:
    """Check the rate limit and the scopes of a known key. Raises Refused: 403, 429."""
    structlog.contextvars.bind_contextvars(caller=credential.name, tenant=credential.tenant)
    if wait := await services.rate_limit.wait_seconds(credential.id):
        detail = f"the limit of {services.rate_limit.rate} is used up; wait {wait} s"
        raise Refused(problems.RATE_LIMITED, detail, headers={"Retry-After": str(wait)})
    if not any(credential.may(scope) for scope in scopes):
        needed = " or ".join(scopes)
        detail = f"the key {credential.name} lacks the scope {needed}"
        raise Refused(problems.FORBIDDEN, detail, {"scope": needed})


Submitter = Annotated[Credential, Depends(allowed_to(Scope.SUBMIT))]
Reader = Annotated[Credential, Depends(allowed_to(Scope.READ))]
Reviewer = Annotated[Credential, Depends(allowed_to(Scope.REVIEW))]


Admin = Annotated[Credential, Depends(allowed_to(Scope.ADMIN))]
Operator = Annotated[Credential, Depends(operator)]
Overseer = Annotated[Credential, Depends(allowed_to(Scope.READ, Scope.ADMIN))]


def stamp_of(settings: ApiSettings, credential: Credential) -> str:
    """Changes when the configured key's secret is replaced; empty for other keys."""
    first = settings.first_key()
    if credential.id != FIRST_ID or first is None:
        return ""
    return digest_secret(first)[:16]


async def holder(services: Services, key_id: str, stamp: str) -> Credential | None:
    """The key of this id, if it is still valid and its stamp is the same."""
    first = configured(services.settings) if key_id == FIRST_ID else None
    found = first or await services.credentials.get(key_id)
    if found is None or not found.active:
        return None
    return found if hmac.compare_digest(stamp, stamp_of(services.settings, found)) else None


async def keys_of_same_person(services: Services, caller: Credential) -> Mapping[str, str]:
    """The identity keys of all keys that count as the caller's person: see `KeyRing`."""
    return (await services.credentials.ring()).same_person(caller)


async def _known(request: Request, services: Services, secret: str | None) -> Credential:
    if not secret:
        raise _unauthorized("the header X-API-Key is missing")
    found = await attempted(request, services, secret, known(services, secret))
    if found is None:
        raise _unauthorized("the key in X-API-Key is unknown or revoked")
    return found


async def attempted(
    request: Request, services: Services, secret: str, looked_up: Coroutine[Any, Any, T | None]
) -> T | None:
    """What a secret stands for; None where it is wrong. Raises Refused, 429, without a lookup,
    where the address has sent too many wrong ones."""
    peer, digest = (
        counted_address(request.client.host if request.client else ""),
        digest_secret(secret),
    )
    if wait := services.wrong_keys.begin(peer, digest):
        looked_up.close()
        detail = f"this address has reached {services.wrong_keys.rate}; wait {wait} s"
        raise Refused(problems.TOO_MANY_WRONG_KEYS, detail, headers={"Retry-After": str(wait)})
    try:
        found = await looked_up
    except BaseException:
        services.wrong_keys.forgive(peer)
        raise
    if found is None:
        services.wrong_keys.add_wrong(peer, digest)
    else:
        services.wrong_keys.add_valid(peer, digest)
    return found


async def known(services: Services, secret: str) -> Credential | None:
    """The key with this secret; None where it is unknown or revoked."""
    digest = digest_secret(secret)
    first = services.settings.first_key()
    if first is not None and hmac.compare_digest(digest, digest_secret(first)):
        return configured(services.settings)
    found = await services.credentials.find(digest)
    return found if found is not None and found.active else None


def _unauthorized(detail: str) -> Refused:
    headers = {"WWW-Authenticate": 'ApiKey realm="fettle", header="X-API-Key"'}
    return Refused(problems.UNAUTHORIZED, detail, headers=headers)
