"""Lanes: an HTTP transport whose cost per request does not grow with those under way.

httpcore's pool looks at every connection, several times, whenever a request comes or goes, and
closes an idle one as soon as there are more than it may keep, be they idle or not (1.0.9:
`_assign_requests_to_connections`). With 200 calls in flight that was most of a worker's processor
time, and a handshake for each call. Here no pool gets more than a few.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx
from typing_extensions import override

WIDTH = 16
"""Requests under way in one lane; the next takes another."""
_KEPT_SECONDS = 5.0
"""How long a connection stays open that nothing uses; httpx's own default."""


@dataclass(slots=True)
class Lane:
    """A pool of connections; `busy` counts the requests under way."""

    transport: httpx.AsyncHTTPTransport
    busy: int = 0
    used: float = 0.0


class Lanes(httpx.AsyncBaseTransport):
    """As many lanes as are needed. A request never waits for a connection to become free."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        self._tls = tls
        self._lanes: list[Lane] = []

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The first lane that has room: the others fall idle, and are closed after a while."""
        await self._close([lane for lane in self._lanes if _stale(lane)])
        lane = next((each for each in self._lanes if each.busy < WIDTH), None) or self._open()
        lane.busy += 1
        try:
            response = await lane.transport.handle_async_request(request)
        except BaseException:
            _leave(lane)
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - httpx' own word
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_Counted(response.stream, lane),
            extensions=response.extensions,
        )

    @override
    async def aclose(self) -> None:
        """Close every connection."""
        await self._close(list(self._lanes))

    def _open(self) -> Lane:
        limits = httpx.Limits(keepalive_expiry=_KEPT_SECONDS)
        lane = Lane(httpx.AsyncHTTPTransport(verify=self._tls, limits=limits))
        self._lanes.append(lane)
        return lane

    async def _close(self, lanes: list[Lane]) -> None:
        for lane in lanes:
            self._lanes.remove(lane)
        for lane in lanes:
            await lane.transport.aclose()


class _Counted(httpx.AsyncByteStream):
    """A response's body, after which its lane has room for one more."""

    def __init__(self, stream: httpx.AsyncByteStream, lane: Lane) -> None:
        self._stream = stream
        self._lane: Lane | None = lane

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part

    @override
    async def aclose(self) -> None:
        lane, self._lane = self._lane, None
        try:
            await self._stream.aclose()
        finally:
            if lane is not None:
                _leave(lane)


def _leave(lane: Lane) -> None:
    lane.busy -= 1
    lane.used = time.monotonic()


def _stale(lane: Lane) -> bool:
    return not lane.busy and time.monotonic() - lane.used > _KEPT_SECONDS
