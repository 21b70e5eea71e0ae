"""Signing in by a key or by a one-time link, and signing out."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qs

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from api.auth.caller import find_holder, find_key, stamp_of, try_secret
from api.http.body import read_bytes
from api.pages.rendering import go_to, render_page
from api.pages.session import COOKIE, Session
from api.pages.visitor import Leaver, check_origin, find_visitor
from api.services import Services, ServicesDep
from jobs.audit.entries import Actor, EntryKind, NewEntry
from jobs.model.credentials import Credential

log = structlog.get_logger(__name__)
router = APIRouter()

FRONT = "/app"
FORM_BYTES = 8 * 1024


@router.get("/sign-in")
async def form(request: Request, services: ServicesDep, next: str = FRONT) -> Response:  # noqa: A002
    """The form; a visitor who is signed in is redirected."""
    if await find_visitor(request, services):
        return RedirectResponse(_page_path(next), 303)
    return render_page("sign_in.html", None, next=_page_path(next), wrong="")


@router.post("/sign-in")
async def sign_in(request: Request, services: ServicesDep) -> Response:
    """Begin a session with the form's key."""
    check_origin(request)
    raw = await read_bytes(request, FORM_BYTES, services.settings.body_seconds)
    sent = parse_qs(raw.decode(errors="replace"))
    target = _page_path(sent.get("next", [FRONT])[0])
    secret = sent.get("key", [""])[0].strip()
    key = await try_secret(request, services, secret, find_key(services, secret))
    if key is None:
        wrong = "This key is unknown, revoked or expired."
        return render_page("sign_in.html", None, status=401, next=target, wrong=wrong)
    session = Session.begin(key.id, stamp_of(services.settings, key))
    await _record(services, key, EntryKind.SIGNED_IN, {"by": "key"})
    log.info("signed in", caller=key.name, by="key")
    return await _start_session(request, services, session, target)


@router.get("/sign-in/{token}")
async def ask(token: str, request: Request, services: ServicesDep) -> Response:
    """Show the key that a link signs in with, and a button. A GET does not use the link, because a
    program may prefetch it, and does not sign in without consent."""
    if await find_visitor(request, services):
        return RedirectResponse(FRONT, 303)
    session = await try_secret(request, services, token, services.sessions.find_link_session(token))
    key = await find_holder(services, session.key_id, session.stamp) if session else None
    if key is None:
        return _link_is_used()
    return render_page("sign_in_link.html", None, token=token, name=key.name, tenant=key.tenant)


@router.post("/sign-in/{token}")
async def follow(token: str, request: Request, services: ServicesDep) -> Response:
    """Begin a session by a link. An existing session is kept, so that a link from another person
    cannot replace it."""
    check_origin(request)
    if await find_visitor(request, services):
        return RedirectResponse(FRONT, 303)
    session = await try_secret(request, services, token, services.sessions.use_link(token))
    key = await find_holder(services, session.key_id, session.stamp) if session else None
    if session is None or key is None:
        return _link_is_used()
    await _record(services, key, EntryKind.SIGNED_IN, {"by": "link"})
    log.info("signed in", caller=key.name, by="link")
    return await _start_session(request, services, session, FRONT)


def _link_is_used() -> Response:
    wrong = "This link was used before, or is too old. Sign in with your key."
    return render_page("sign_in.html", None, status=401, next=FRONT, wrong=wrong)


@router.post("/sign-out")
async def sign_out(request: Request, services: ServicesDep, visitor: Leaver) -> Response:
    """End the session, including copies of its cookie."""
    await _record(services, visitor.credential, EntryKind.SIGNED_OUT, {})
    await services.sessions.end(visitor.session)
    response = go_to(request, "/app/sign-in")
    response.delete_cookie(COOKIE, path=FRONT)
    return response


async def _record(
    services: Services, key: Credential, kind: EntryKind, data: Mapping[str, str]
) -> None:
    """Append an entry to the audit log of the key's tenant."""
    await services.store.audit.append(NewEntry(key.tenant, kind, Actor.of(key), data))


async def _start_session(
    request: Request, services: Services, session: Session, target: str
) -> Response:
    secure = services.settings.secure_cookies
    answer = RedirectResponse(target, 303)
    answer.set_cookie(
        COOKIE,
        await services.sessions.write(session),
        max_age=services.sessions.seconds,
        path=FRONT,
        secure=request.url.scheme == "https" if secure is None else secure,
        httponly=True,
        samesite="lax",  # strict would ask a visitor who follows a link to a job to sign in
    )
    return answer


def _page_path(path: str) -> str:
    """The path if it is one of the pages, else the front page."""
    return path if path == FRONT or path.startswith((f"{FRONT}/", f"{FRONT}?")) else FRONT
