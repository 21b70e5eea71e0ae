"""Connections: uvicorn's HTTP protocol, with limits on the data of an unknown client.

With `httptools`, uvicorn limits neither the size of a request's head nor the time that it takes.
Here a head has a limit of bytes and of seconds, and an address a limit of connections. A body has
its own limits (`api.http.body`), which depend on the route.

A client that is refused while it sends can still read the answer. Closing a socket with unread
bytes resets the connection, and a reset can discard the answer before the client has read it
(RFC 9112, section 9.6). So the server closes its half, drops the bytes that still arrive, and
closes the connection when the client has closed its half: it lingers.

See ADR 30.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LINGER_BYTES = 64 * 1024 * 1024
"""The most bytes of a request that are dropped after its answer; then the connection is cut."""


class LingeringTransport:
    """Wraps a transport so that `close` lingers while `client_sends`.

    It calls `on_linger()` when lingering begins. The caller limits the time, and calls `abort`.
    """

    def __init__(self, transport: asyncio.Transport, on_linger: Callable[[], None]) -> None:
        self._transport = transport
        self._on_linger = on_linger
        self._droppable_bytes: int | None = None
        self.client_sends = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether nothing more can be written."""
        return self._droppable_bytes is not None or self._transport.is_closing()

    def close(self) -> None:
        """Close when the client has closed its half; at once if it has, or at the second call."""
        if self.is_closing() or not self.client_sends:
            self._transport.close()
            return
        self._droppable_bytes = LINGER_BYTES
        with contextlib.suppress(OSError):  # the connection is lost, which is reported separately
            self._transport.write_eof()
        self._transport.resume_reading()
        self._on_linger()

    def drop(self, size: int) -> None:
        """Drop bytes that arrived after `close`."""
        if self._droppable_bytes is not None:
            self._droppable_bytes -= size
            if self._droppable_bytes < 0:
                self._transport.abort()


log = structlog.get_logger(__name__)

HEAD_BYTES = 32 * 1024
"""The size of a request's line and fields. A field counts 32 bytes more than its own size, as in
HTTP/2."""
FIELD_BYTES = 32
MAX_PIPELINED = 16
"""Requests of a connection that wait for the answer to an earlier one."""
CLOSE_SECONDS = 5.0
"""Time for a client to read an answer that closes the connection, and to stop sending."""
LOG_SECONDS = 10.0


@dataclass
class OpenAddresses:
    """The open connections of one process, by address. An IPv6 network of 64 bits counts as one
    address, because a provider gives such a network to a customer."""

    limit: int
    """Connections that one address may have open."""
    _open: Counter[str] = field(default_factory=Counter)
    _logged: float = 0.0

    def enter(self, peer: str) -> bool:
        """Count a connection. Returns False if the address has reached the limit."""
        if self._open[peer] >= self.limit:
            if time.monotonic() - self._logged > LOG_SECONDS:
                self._logged = time.monotonic()
                log.warning("too many connections from one address", peer=peer, limit=self.limit)
            return False
        self._open[peer] += 1
        return True

    def leave(self, peer: str) -> None:
        """Stop counting a connection that has ended."""
        self._open -= Counter({peer: 1})


def counted_address(host: str) -> str:
    """The address that a peer counts as."""
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
    each answer), and while it lingers."""

    def __init__(
        self, *args: Any, addresses: OpenAddresses, head_seconds: float, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._addresses = addresses
        self._head_seconds = head_seconds
        self._peer: str | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._unsent_bytes = 0
        self._head_bytes = 0
        self._unreported = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See uvicorn."""
        self._lingering = LingeringTransport(transport, lambda: self._await_head(CLOSE_SECONDS))
        super().connection_made(cast("asyncio.Transport", self._lingering))
        peer = counted_address(self.client[0]) if self.client else ""  # a unix socket has none
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
        self._stop_timer()
        self._lingering.client_sends = False
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See uvicorn. Also limits the bytes that the parser keeps without reporting them."""
        if self.transport.is_closing():
            self._lingering.drop(len(data))
            return
        self._lingering.client_sends = True
        self._unreported += len(data)
        super().data_received(data)
        if self._unreported > HEAD_BYTES and not self.transport.is_closing():
            self._refuse_head()

    def send_400_response(self, msg: str) -> None:
        """See uvicorn, which would write this into the middle of another answer."""
        if self._head_bytes > HEAD_BYTES:
            self._refuse_head()
        else:
            self._refuse(400, msg)

    def on_message_begin(self) -> None:
        """See uvicorn."""
        self._head_bytes = self._unreported = 0
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
        if len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError("too many requests wait for an answer")
        self._stop_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """See uvicorn."""
        self._unreported = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """See uvicorn."""
        self._unreported = 0
        self._lingering.client_sends = False
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """See uvicorn."""
        super().on_response_complete()
        is_lingering = self._timer is not None  # only lingering starts it during an answer
        is_idle = self.cycle.response_complete  # otherwise the next request is being served
        if is_idle and not is_lingering:
            self._await_head(self.timeout_keep_alive + self._head_seconds)

    def _count(self, size: int) -> None:
        self._unreported = 0
        self._head_bytes += size
        if self._head_bytes > HEAD_BYTES:
            raise ValueError("the head is too large")  # the parser stops: see send_400_response

    def _await_head(self, seconds: float) -> None:
        self._stop_timer()
        self._unsent_bytes = -1
        self._timer = self.loop.call_later(seconds, self._expire, seconds)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expire(self, seconds: float) -> None:
        """Close, since no head has arrived. A client that still reads the previous answer gets more
        time."""
        unsent = self.transport.get_write_buffer_size()
        if unsent and (self._unsent_bytes < 0 or unsent < self._unsent_bytes):
            self._unsent_bytes = unsent
            self._timer = self.loop.call_later(seconds, self._expire, seconds)
        elif unsent:
            self.transport.abort()
        else:
            self._refuse(408, f"the request's head did not arrive within {seconds:g} s")

    def _refuse_head(self) -> None:
        self._refuse(431, f"a request's head may have at most {HEAD_BYTES} bytes")

    def _refuse(self, status: int, text: str, header: str = "") -> None:
        """Answer, unless another answer is being sent, and close."""
        busy = self.cycle is not None and not self.cycle.response_complete
        if busy or self.transport.is_closing():
            self.transport.abort()
            return
        head = f"content-type: text/plain\r\ncontent-length: {len(text)}\r\nconnection: close\r\n"
        self.transport.write(f"HTTP/1.1 {status} \r\n{head}{header}\r\n{text}".encode())
        self.transport.close()
        self.loop.call_later(CLOSE_SECONDS, self.transport.abort)
