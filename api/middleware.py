"""RequestMiddleware: a request's id, its log line, its metrics, and the last handler of errors.
ApiCors: permission for web pages of other origins to call the API."""

from __future__ import annotations

import re
import secrets
import time

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import problems
from api.http import hosts
from api.http.answers import restore_head, serve_head_as_get
from api.http.long_poll import WAITED
from api.metrics import Metrics
from api.pages import error_pages
from api.problems import RefusedRequest, problem_response
from settings.api import ApiSettings

log = structlog.get_logger(__name__)

MAX_PARAMETERS = 100
_PROBES = ("/healthz", "/readyz", "/metrics")
_TOKEN = re.compile(r"(?<=/sign-in/).+", re.DOTALL)
"""The rest of such a path is a sign-in token, which must not be logged."""
_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,100}")
_ALWAYS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


class RequestMiddleware:
    """Pure ASGI, so that it does not buffer streams."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; pass lifespan messages through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(scope, send)
        serve_head_as_get(scope)
        with structlog.contextvars.bound_contextvars(request_id=request.id):
            try:
                if (refused := _refused_unread(scope)) is not None:
                    await problem_response(refused, request.id)(scope, receive, request.send)
                    return
                await self._app(scope, receive, request.send)
            except Exception:
                log.exception("request failed", method=scope["method"], path=_logged_path(scope))
                if request.status:
                    raise  # a part of the answer was sent: the connection can only be cut
                broken = RefusedRequest(
                    problems.INTERNAL,
                    "the request failed: an operator finds the reason in the log by its request id",
                )
                await _failure(Request(scope), broken)(scope, receive, request.send)
            finally:
                request.end()


class ApiCors(CORSMiddleware):
    """CORS without cookies, for the JSON API: the pages identify a person by a cookie."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        is_page = scope["type"] == "http" and error_pages.is_page_request(Request(scope))
        await (self.app if is_page else super().__call__)(scope, receive, send)


def _refused_unread(scope: Scope) -> RefusedRequest | None:
    """A refusal before the request is parsed: an unknown host name, or too many parameters."""
    if scope["query_string"].count(b"&") >= MAX_PARAMETERS:
        return RefusedRequest(
            problems.BAD_REQUEST, f"a query may have at most {MAX_PARAMETERS} parameters"
        )
    settings: ApiSettings = scope["app"].state.services.settings
    names = Headers(scope=scope).getlist("host")
    server = scope.get("server")
    if hosts.are_allowed(names, settings.allowed_hosts, server[0] if server else None):
        return None
    detail = f"{', '.join(names)[:200]!r} is not an allowed host: add it to FETTLE_ALLOWED_HOSTS"
    return RefusedRequest(problems.UNKNOWN_HOST, detail)


def _failure(request: Request, broken: RefusedRequest) -> Response:
    """The failure as a page if the request is for a page, else as a problem."""
    if error_pages.is_page_request(request):
        return error_pages.answer(request, broken)
    return problem_response(broken, request.scope["request_id"])


def _logged_path(scope: Scope) -> str:
    """The path without the token of a sign-in link."""
    return _TOKEN.sub("...", scope["path"])


def _peer(scope: Scope) -> str:
    """The client's address; with a trusted proxy, the one that it forwards (see Server)."""
    client = scope.get("client")
    return client[0] if client else ""


class _Request:
    def __init__(self, scope: Scope, send: Send) -> None:
        sent = Headers(scope=scope).get("x-request-id", "")
        self.id = sent if _REQUEST_ID.fullmatch(sent) else secrets.token_hex(8)
        scope["request_id"] = self.id
        self.status = 0
        self._scope = scope
        self._send = send
        self._started_at = time.perf_counter()

    async def send(self, message: Message) -> None:
        """Pass a message on; the first one gets the standard headers."""
        message = restore_head(self._scope, message)
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.id
            for name, value in _ALWAYS.items():
                headers.setdefault(name, value)
            waited_seconds = self._scope.get(WAITED, 0.0)  # a wait is no latency
            self._metrics().count_response(
                self._scope["method"], self._route(), self.status, self._seconds() - waited_seconds
            )
        await self._send(message)

    def end(self) -> None:
        """Write the log line; of probes, at level debug."""
        write = log.debug if self._scope["path"] in _PROBES else log.info
        write(
            "request",
            method=self._scope["method"],
            path=_logged_path(self._scope),
            peer=_peer(self._scope),
            status=self.status,
            seconds=round(self._seconds(), 4),
        )

    def _seconds(self) -> float:
        return time.perf_counter() - self._started_at

    def _metrics(self) -> Metrics:
        metrics: Metrics = self._scope["app"].state.services.metrics
        return metrics

    def _route(self) -> str:
        # the route's template, not the path: a metric's label must have few values
        return getattr(self._scope.get("route"), "path", "") or "unknown"
