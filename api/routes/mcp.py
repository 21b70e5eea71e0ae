"""The MCP server at /mcp: streamable HTTP, without sessions, so that any process can answer.

A tool calls this application in this process with the key of the caller. Keys, scopes, limits, the
audit log and errors are therefore those of the API (ADR 101).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module
from typing import Any

import httpx
from fastapi import APIRouter, Request, Response
from fastapi.security.utils import get_authorization_scheme_param
from starlette.types import Message, Receive, Scope, Send
from typing_extensions import override

import fettle
from api.auth.caller import AnyKey
from api.http.body import BODY_SETTING, MAX_JSON_FILES_BYTES, read_bytes
from api.services import ServicesDep

router = APIRouter()


@router.post("/mcp", include_in_schema=False)
async def mcp(request: Request, services: ServicesDep, caller: AnyKey) -> Response:  # noqa: ARG001
    """Answer a message of the Model Context Protocol."""
    settings = services.settings
    limit = settings.max_body_bytes + min(settings.max_files_bytes, MAX_JSON_FILES_BYTES)
    body = await read_bytes(request, limit, settings.body_seconds, BODY_SETTING)
    return _McpAnswer(await asyncio.to_thread(_server), body)


@cache
def _server() -> Any:
    # The SDK takes 24 MiB and most of a second: only processes that serve MCP load it.
    return import_module("fettle.mcp.server").make_server(_connect)


@asynccontextmanager
async def _connect(request: Request) -> AsyncIterator[fettle.AsyncClient]:
    """A client of this application, with the key and the address of the request."""
    peer = (request.client.host, request.client.port) if request.client else ("", 0)
    transport = httpx.ASGITransport(request.app, client=peer)
    headers = {"X-Request-Id": request.scope["request_id"]}
    async with httpx.AsyncClient(transport=transport, headers=headers) as http:
        _, token = get_authorization_scheme_param(request.headers.get("authorization"))
        key = request.headers.get("x-api-key") or token
        yield fettle.AsyncClient(str(request.base_url), key, http=http)


class _McpAnswer(Response):
    """The SDK's answer to a request. The body of the request was read before."""

    def __init__(self, server: Any, body: bytes) -> None:
        super().__init__()
        self._server = server
        self._request_body = body

    @override
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        messages: list[Message] = [{"type": "http.request", "body": self._request_body}]

        async def receive_again() -> Message:
            return messages.pop() if messages else await receive()

        # A session manager of its own, which ends with the request: there are no sessions.
        self._server.streamable_http_app(
            stateless_http=True, max_request_body_size=len(self._request_body) + 1, host=""
        )
        manager = self._server.session_manager
        async with manager.run():
            await manager.handle_request(scope, receive_again, send)
