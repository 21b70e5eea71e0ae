"""ShardedTransport: an HTTP transport with a cost per request that does not grow with their number.

httpcore's pool looks at every connection, several times, whenever a request starts or ends, and
closes an idle one as soon as there are more than its keep-alive limit, idle or not (1.0.9:
`_assign_requests_to_connections`). With 200 calls in flight that took most of a worker's CPU, and a
TLS handshake for each call. Here each pool has only a few connections.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
from typing_extensions import override

WIDTH = 16
"""Requests in one shard; the next one uses another."""
_KEPT_SECONDS = 5.0
"""How long an idle connection stays open; httpx's own default."""


@dataclass(slots=True)
class Shard:
    """A pool of connections; `busy` counts its current requests."""

    transport: httpx.AsyncHTTPTransport
    busy: int = 0
    used: float = 0.0


class ShardedTransport(httpx.AsyncBaseTransport):
    """As many shards as needed. A request never waits for a free connection."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self._shards: list[Shard] = []

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Use the first shard with space: the others become idle, and are closed after a while."""
        await self._close([shard for shard in self._shards if _stale(shard)])
        shard = (
            next((open_shard for open_shard in self._shards if open_shard.busy < WIDTH), None)
            or self._open()
        )
        shard.busy += 1
        try:
            response = await shard.transport.handle_async_request(request)
        except BaseException:
            _leave(shard)
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - httpx' own word
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_Counted(response.stream, shard),
            extensions=response.extensions,
        )

    @override
    async def aclose(self) -> None:
        """Close every connection."""
        await self._close(list(self._shards))

    def _open(self) -> Shard:
        limits = httpx.Limits(keepalive_expiry=_KEPT_SECONDS)
        shard = Shard(httpx.AsyncHTTPTransport(verify=self._tls, limits=limits))
        self._shards.append(shard)
        return shard

    async def _close(self, shards: list[Shard]) -> None:
        for shard in shards:
            self._shards.remove(shard)
        for shard in shards:
            await shard.transport.aclose()


class _Counted(httpx.AsyncByteStream):
    """A response's body; when it is closed, its shard has space for one more."""

    def __init__(self, stream: httpx.AsyncByteStream, shard: Shard) -> None:
        self._stream = stream
        self._shard: Shard | None = shard

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part

    @override
    async def aclose(self) -> None:
        shard, self._shard = self._shard, None
        try:
            await self._stream.aclose()
        finally:
            if shard is not None:
                _leave(shard)


def _leave(shard: Shard) -> None:
    shard.busy -= 1
    shard.used = time.monotonic()


def _stale(shard: Shard) -> bool:
    return not shard.busy and time.monotonic() - shard.used > _KEPT_SECONDS
