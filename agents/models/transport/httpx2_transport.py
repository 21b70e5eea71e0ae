"""Connects a client library that uses httpx2, the successor of httpx, to our connections."""

from __future__ import annotations

import httpx
import httpx2
from typing_extensions import override


class Httpx2Transport(httpx2.AsyncBaseTransport):
    """Sends requests through `http`, and returns its complete replies.

    Raises what that raises; the libraries keep it as the cause of their own errors.
    """

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    @override
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        sent = httpx.Request(
            request.method,
            str(request.url),
            headers=request.headers.raw,
            content=await request.aread(),
        )
        response = await self._http.send(sent)
        return httpx2.Response(
            response.status_code, headers=response.headers.raw, content=response.content
        )


def httpx2_client(http: httpx.AsyncClient) -> httpx2.AsyncClient:
    """An httpx2 client over `http`, which chooses proxies and connections."""
    return httpx2.AsyncClient(transport=Httpx2Transport(http), trust_env=False)
