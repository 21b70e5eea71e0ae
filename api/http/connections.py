"""Connection: uvicorn's HTTP protocol, with limits on what an unknown client may send.

With `httptools`, uvicorn limits neither the size of a request's head nor the time that it takes.
Here a head has a limit of bytes and of seconds, and an address a limit of connections. A body has
its own limits (`api.http.body`), which depend on the route. A client that is refused while it sends
can still read the answer (`api.http.lingering`).

Why: docs/decisions/0030-bounds-in-the-server.md
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, cast

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api.http.lingering import LingeringTransport

log = structlog.get_logger(__name__)

HEAD_BYTES = 32 * 1024
"""Of a request's line and fields. Each field counts 32 bytes more than its own, as in HTTP/2."""
FIELD_BYTES = 32
MOST_PIPELINED = 16
"""Requests of a connection that wait for the answer to an earlier one."""
CLOSE_SECONDS = 5.0
"""Time for a client to read an answer that closes the connection, and to stop sending."""
LOG_SECONDS = 10.0


@dataclass
class Addresses:
    """Connections by address, in one process. An IPv6 network of 64 bits is one address: a provider
    gives one to a customer."""

    most: int
    _open: Counter[str] = field(default_factory=Counter)
    _logged: float = 0.0

    def enter(self, peer: str) -> bool:
        """Count a connection; False where the address has reached the limit."""
        if self._open[peer] >= self.most:
            if time.monotonic() - self._logged > LOG_SECONDS:
                self._logged = time.monotonic()
                log.warning("too many connections of one address", peer=peer, limit=self.most)
            return False
        self._open[peer] += 1
        return True

    def leave(self, peer: str) -> None:
        """A counted connection has ended."""
        self._open -= Counter({peer: 1})


def counted_as(host: str) -> str:
    """The address that a peer counts as (pure)."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))


class Connection(HttpToolsProtocol):
    """One connection. Its timer runs while it waits for a head (from the start, and from the end of
    each answer), and while the connection lingers."""

    def __init__(
        self, *args: Any, addresses: Addresses, head_seconds: float, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._addresses = addresses
        self._head_seconds = head_seconds
        self._peer: str | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._unsent = 0
        self._head = 0
        self._unheard = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See uvicorn."""
        self._lingering = LingeringTransport(transport, lambda: self._await_head(CLOSE_SECONDS))
        super().connection_made(cast("asyncio.Transport", self._lingering))
        peer = counted_as(self.client[0]) if self.client else ""  # a unix socket has none
        if peer and not self._addresses.enter(peer):
            self._refuse(503, "too many connections from this address", "retry-after: 1\r\n")
            return
        self._peer = peer or None
        self._await_head(self._head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """See uvicorn."""
        if self._peer is not None:
            self._addresses.leave(self._peer)
            self._peer = None
        self._stop_clock()
        self._lingering.client_sends = False
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See uvicorn. Limits also what the parser keeps without reporting it."""
        if self.transport.is_closing():
            self._lingering.drop(len(data))
            return
        self._lingering.client_sends = True
        self._unheard += len(data)
        super().data_received(data)
        if self._unheard > HEAD_BYTES and not self.transport.is_closing():
            self._too_large()

    def send_400_response(self, msg: str) -> None:
        """See uvicorn, which would write this into the middle of another answer."""
        if self._head > HEAD_BYTES:
            self._too_large()
        else:
            self._refuse(400, msg)

    def on_message_begin(self) -> None:
        """See uvicorn."""
        self._head = self._unheard = 0
        self._lingering.client_sends = True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """See uvicorn."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """See uvicorn; fields after a body (trailers) come here, too."""
        self._count(len(name) + len(value) + FIELD_BYTES)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """See uvicorn."""
        if len(self.pipeline) >= MOST_PIPELINED:
            raise ValueError("too many requests wait for an answer")
        self._stop_clock()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """See uvicorn."""
        self._unheard = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """See uvicorn."""
        self._unheard = 0
        self._lingering.client_sends = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """See uvicorn."""
        super().on_response_complete()
        lingers = self._clock is not None  # nothing else starts it during an answer
        if self.cycle.response_complete and not lingers:  # else another request is being served
            self._await_head(self.timeout_keep_alive + self._head_seconds)

    def _count(self, size: int) -> None:
        self._unheard = 0
        self._head += size
        if self._head > HEAD_BYTES:
            raise ValueError("the head is too large")  # the parser stops: see send_400_response

    def _await_head(self, seconds: float) -> None:
        self._stop_clock()
        self._unsent = -1
        self._clock = self.loop.call_later(seconds, self._expire, seconds)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _expire(self, seconds: float) -> None:
        """No head has arrived. A client that still reads the previous answer gets more time."""
        unsent = self.transport.get_write_buffer_size()
        if unsent and (self._unsent < 0 or unsent < self._unsent):
            self._unsent = unsent
            self._clock = self.loop.call_later(seconds, self._expire, seconds)
        elif unsent:
            self.transport.abort()
        else:
            self._refuse(408, f"the request's head did not arrive within {seconds:g} s")

    def _too_large(self) -> None:
        self._refuse(431, f"a request's head may have {HEAD_BYTES} bytes")

    def _refuse(self, status: int, text: str, more: str = "") -> None:
        """Answer, unless another answer is being sent, and close."""
        busy = self.cycle is not None and not self.cycle.response_complete
        if busy or self.transport.is_closing():
            self.transport.abort()
            return
        head = f"content-type: text/plain\r\ncontent-length: {len(text)}\r\nconnection: close\r\n"
        self.transport.write(f"HTTP/1.1 {status} \r\n{head}{more}\r\n{text}".encode())
        self.transport.close()
        self.loop.call_later(CLOSE_SECONDS, self.transport.abort)
