"""The caller of a request: its key, the scopes of the key, its rate limit."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, TypeVar

import structlog
from fastapi import Depends, Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from api import problems
from api.http.connections import counted_address
from api.http.field_errors import check_query
from api.problems import RefusedRequest
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

_ABOUT_KEYS = f"A key from `fettle keys create`. Development has `{DEVELOPMENT_KEY}`."
_header = APIKeyHeader(name="X-API-Key", auto_error=False, description=_ABOUT_KEYS)
_bearer = HTTPBearer(auto_error=False, description=_ABOUT_KEYS)


def configured_key(settings: ApiSettings) -> Credential | None:
    """The key of the settings; it is not in Redis and cannot be revoked."""
    key = settings.first_key()
    if key is None:
        return None
    production, development = FIRST_NAMES
    name = development if key == DEVELOPMENT_KEY else production
    return replace(FIRST, name=name, person=name)


def require_scope(*scopes: Scope) -> Callable[..., Awaitable[Credential]]:
    """A dependency: the caller, if the key has one of these scopes; else 401, 403 or 429. An
    unknown query parameter is a 422."""

    async def caller(
        request: Request,
        services: ServicesDep,
        key: Annotated[str | None, Security(_header)] = None,
        bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)] = None,
    ) -> Credential:
        secrets = {secret for secret in (key, bearer and bearer.credentials) if secret}
        credential = await _authenticate(request, services, secrets)
        await check_access(request, services, credential, *scopes)
        await check_query(request)
        return credential

    return caller


async def require_operator(
    caller: Annotated[Credential, Depends(require_scope(Scope.ADMIN))],
) -> Credential:
    """A dependency: the caller, if it is the operator; else 401, 403 or 429."""
    if not caller.operates:
        detail = f"only the operator may do this: use an admin key of the tenant {OPERATOR}"
        raise RefusedRequest(problems.FORBIDDEN, detail, {"scope": "admin"})
    return caller


def require_governor(caller: Credential, tenant: str) -> None:
    """Raise RefusedRequest, a 403, unless the caller governs the tenant."""
    if not caller.governs(tenant):
        raise RefusedRequest(problems.FORBIDDEN, f"your key does not govern the tenant {tenant}")


async def check_access(
    request: Request, services: Services, credential: Credential, *scopes: Scope
) -> None:
    """Check the rate limit and the scopes of a known key. Raises RefusedRequest: 403, 429."""
    # For `stream_bytes`: a body may arrive long after this check.
    request.state.check_key = partial(check_still_valid, services, credential)
    structlog.contextvars.bind_contextvars(caller=credential.name, tenant=credential.tenant)
    if wait := await services.rate_limit.wait_seconds(credential.id):
        detail = f"the key has used its limit of {services.rate_limit.rate}: wait {wait} s"
        raise RefusedRequest(problems.RATE_LIMITED, detail, headers={"Retry-After": str(wait)})
    await services.credentials.record_use(credential.id)
    if not any(credential.may(scope) for scope in scopes):
        required = " or ".join(scopes)
        detail = f"the key {credential.name} lacks the scope {required}"
        raise RefusedRequest(problems.FORBIDDEN, detail, {"scope": required})


Submitter = Annotated[Credential, Depends(require_scope(Scope.SUBMIT))]
Reader = Annotated[Credential, Depends(require_scope(Scope.READ))]
Reviewer = Annotated[Credential, Depends(require_scope(Scope.REVIEW))]


Admin = Annotated[Credential, Depends(require_scope(Scope.ADMIN))]
Operator = Annotated[Credential, Depends(require_operator)]
Overseer = Annotated[Credential, Depends(require_scope(Scope.READ, Scope.ADMIN))]
AnyKey = Annotated[Credential, Depends(require_scope(*Scope))]


def stamp_of(settings: ApiSettings, credential: Credential) -> str:
    """A text that changes when the secret of the first key is replaced; empty for other keys."""
    first = settings.first_key()
    if credential.id != FIRST_ID or first is None:
        return ""
    return digest_secret(first)[:16]


async def find_holder(services: Services, key_id: str, stamp: str) -> Credential | None:
    """The key of this id, if it is still valid and has this stamp (see `stamp_of`)."""
    first = configured_key(services.settings) if key_id == FIRST_ID else None
    key = first or await _valid(services, await services.credentials.get(key_id))
    if key is None:
        return None
    return key if hmac.compare_digest(stamp, stamp_of(services.settings, key)) else None


async def is_still_valid(services: Services, caller: Credential) -> bool:
    """Whether the key of a request that takes longer is still valid."""
    stamp = stamp_of(services.settings, caller)
    return await find_holder(services, caller.id, stamp) is not None


async def check_still_valid(services: Services, caller: Credential) -> None:
    """Raise RefusedRequest, a 401, if the key is not valid any more."""
    if not await is_still_valid(services, caller):
        raise _unauthorized("the key was revoked or has expired")


async def keys_of_same_person(services: Services, caller: Credential) -> Mapping[str, str]:
    """The identity keys of all keys that count as the caller's person: see `KeyRing`."""
    return (await services.credentials.ring()).same_person(caller)


async def _authenticate(
    request: Request, services: Services, secrets: Collection[str]
) -> Credential:
    if not secrets:
        raise _unauthorized(
            "the request has no key: send the header X-API-Key, or Authorization: Bearer KEY"
        )
    if len(secrets) > 1:
        raise _unauthorized(
            "the headers X-API-Key and Authorization have different keys: send one of them"
        )
    (secret,) = secrets
    key = await try_secret(request, services, secret, find_key(services, secret))
    if key is None:
        raise _unauthorized("the key is unknown, revoked or expired")
    return key


async def try_secret(
    request: Request, services: Services, secret: str, lookup: Coroutine[Any, Any, T | None]
) -> T | None:
    """The result of the lookup of a secret; None for a wrong secret. Raises RefusedRequest, 429,
    without a lookup if the address has sent too many wrong secrets."""
    peer = counted_address(request.client.host if request.client else "")
    digest = digest_secret(secret)
    if wait := services.wrong_keys.begin(peer, digest):
        lookup.close()
        detail = (
            f"this address has sent more wrong keys than {services.wrong_keys.rate}: wait {wait} s"
        )
        raise RefusedRequest(
            problems.TOO_MANY_WRONG_KEYS, detail, headers={"Retry-After": str(wait)}
        )
    try:
        result = await lookup
    except BaseException:
        services.wrong_keys.forgive(peer)
        raise
    if result is None:
        services.wrong_keys.add_wrong(peer, digest)
    else:
        services.wrong_keys.add_valid(peer, digest)
    return result


async def find_key(services: Services, secret: str) -> Credential | None:
    """The key with this secret; None if it is unknown, revoked or expired."""
    digest = digest_secret(secret)
    first = services.settings.first_key()
    if first is not None and hmac.compare_digest(digest, digest_secret(first)):
        return configured_key(services.settings)
    return await _valid(services, await services.credentials.find(digest))


async def _valid(services: Services, key: Credential | None) -> Credential | None:
    """The key, unless it is revoked or expired."""
    now = await services.store.now() if key and key.expires_at else 0
    return key if key is not None and key.is_valid(now) else None


def _unauthorized(detail: str) -> RefusedRequest:
    schemes = 'ApiKey realm="fettle", header="X-API-Key", Bearer realm="fettle"'
    return RefusedRequest(problems.UNAUTHORIZED, detail, headers={"WWW-Authenticate": schemes})
