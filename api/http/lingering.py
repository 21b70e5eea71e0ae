"""Lingering close: a client that still sends can read the answer before its connection ends.

Closing a socket with unread bytes resets the connection, and a reset can discard the answer before
the client has read it (RFC 9112, section 9.6). So the server closes its half, drops what still
arrives, and closes the connection when the client has closed its half.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

LINGER_BYTES = 64 * 1024 * 1024
"""The most bytes of a request that are dropped after its answer; then the connection is cut."""


class LingeringTransport:
    """A transport whose `close` lingers while `client_sends`; the rest is that of `transport`.

    It calls `lingers()` when lingering begins: the caller limits the time, and ends it by `abort`.
    """

    def __init__(self, transport: asyncio.Transport, lingers: Callable[[], None]) -> None:
        self._transport = transport
        self._lingers = lingers
        self._left: int | None = None
        self.client_sends = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether nothing more can be written."""
        return self._left is not None or self._transport.is_closing()

    def close(self) -> None:
        """Close when the client has closed its half; at once if it has, or at the second call."""
        if self.is_closing() or not self.client_sends:
            self._transport.close()
            return
        self._left = LINGER_BYTES
        with contextlib.suppress(OSError):  # the client is gone, which is reported separately
            self._transport.write_eof()
        self._transport.resume_reading()
        self._lingers()

    def drop(self, size: int) -> None:
        """Drop bytes that arrived after `close`."""
        if self._left is not None:
            self._left -= size
            if self._left < 0:
                self._transport.abort()
