"""The visitor of a page: the session's key, its scopes, and the check of posts."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request

from api import problems
from api.auth.caller import check_access, find_holder
from api.pages.forms import FORM_TOKEN, posted_fields
from api.pages.session import COOKIE, Session
from api.problems import RefusedRequest
from api.services import Services, ServicesDep
from jobs.model.credentials import Credential, Scope


@dataclass(frozen=True, slots=True)
class Visitor:
    """A signed-in browser. Its posts have to send `form_token`."""

    credential: Credential
    session: Session
    form_token: str

    def may(self, scope: str) -> bool:
        """Whether the key has this scope."""
        return self.credential.may(Scope(scope))


def require_visitor(*scopes: Scope) -> Callable[..., Awaitable[Visitor]]:
    """A dependency: the visitor of a page, if the key has one of the scopes.

    Raises RefusedRequest: 401 (a page then shows the sign-in form), 403, 429.
    """

    async def dependency(request: Request, services: ServicesDep) -> Visitor:
        visitor = await find_visitor(request, services)
        if visitor is None:
            raise RefusedRequest(problems.UNAUTHORIZED, "you are not signed in")
        await check_access(request, services, visitor.credential, *scopes)
        return visitor

    return dependency


def require_posting_visitor(*scopes: Scope) -> Callable[..., Awaitable[Visitor]]:
    """A dependency: the visitor who posts from one of these pages."""
    signed_in = require_visitor(*scopes)

    async def dependency(request: Request, services: ServicesDep) -> Visitor:
        check_origin(request)
        visitor = await signed_in(request, services)
        check_token(request, visitor, await _posted_token(request, services))
        return visitor

    return dependency


def check_token(request: Request, visitor: Visitor, posted: str) -> None:
    """Raise RefusedRequest, a 403, unless the header that scripts send, or else the form's field of
    this name (`posted`), has the visitor's token."""
    token = request.headers.get(FORM_TOKEN, posted)
    if not hmac.compare_digest(token.encode(), visitor.form_token.encode()):
        raise RefusedRequest(problems.FORBIDDEN, "this form has expired: reload the page")


async def _posted_token(request: Request, services: Services) -> str:
    if request.headers.get("content-type") != "application/x-www-form-urlencoded":
        return ""
    return (await posted_fields(request, services.settings)).pop(FORM_TOKEN, [""])[-1]


async def find_visitor(request: Request, services: Services) -> Visitor | None:
    """The visitor, if the browser has a session with a key that is still valid."""
    cookie = request.cookies.get(COOKIE)
    session = await services.sessions.read(cookie) if cookie else None
    if session is None:
        return None
    credential = await find_holder(services, session.key_id, session.stamp)
    if credential is None:
        return None
    return Visitor(credential, session, await services.sessions.form_token(session))


def check_origin(request: Request) -> None:
    """Raise RefusedRequest if another site sent this request."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        foreign = site not in ("same-origin", "none")
    else:  # browsers send it over https and to this machine only
        origin = request.headers.get("origin")
        foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign:
        raise RefusedRequest(problems.FORBIDDEN, "another site sent this request")


EVERYONE = tuple(Scope)
Reader = Annotated[Visitor, Depends(require_visitor(Scope.READ))]
Overseer = Annotated[Visitor, Depends(require_visitor(Scope.READ, Scope.ADMIN))]
Author = Annotated[Visitor, Depends(require_visitor(Scope.SUBMIT))]
Submitter = Annotated[Visitor, Depends(require_posting_visitor(Scope.SUBMIT))]
Reviewer = Annotated[Visitor, Depends(require_posting_visitor(Scope.REVIEW))]
Admin = Annotated[Visitor, Depends(require_visitor(Scope.ADMIN))]
PostingAdmin = Annotated[Visitor, Depends(require_posting_visitor(Scope.ADMIN))]
Leaver = Annotated[Visitor, Depends(require_posting_visitor(*EVERYONE))]
