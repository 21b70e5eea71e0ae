"""Lingering: a connection that is closed while its client still sends lets the client read first.

Closing a socket that holds unread bytes resets the connection, and a reset takes
from the client the answer that is on its way (RFC 9112, section 9.6). So our half is closed, what
still comes is dropped, and the whole is closed when the client has ended its half.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

LINGER_BYTES = 64 * 1024 * 1024
"""Of a request that are dropped after its answer. A sender of more is cut off."""


class LingeringTransport:
    """A transport whose `close` lingers while `client_sends`; all else is that of `transport`.

    `lingers()` is called when it begins: the caller bounds the time, and ends it with `abort`.
    """

    def __init__(self, transport: asyncio.Transport, lingers: Callable[[], None]) -> None:
        self._transport = transport
        self._lingers = lingers
        self._left: int | None = None
        self.client_sends = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Whether nothing more is to be written."""
        return self._left is not None or self._transport.is_closing()

    def close(self) -> None:
        """Close when the client has ended its half; at once where it has, or the second time."""
        if self.is_closing() or not self.client_sends:
            self._transport.close()
            return
        self._left = LINGER_BYTES
        with contextlib.suppress(OSError):  # the client is gone: that is reported by itself
            self._transport.write_eof()
        self._transport.resume_reading()
        self._lingers()

    def drop(self, size: int) -> None:
        """So many bytes have come after `close`."""
        if self._left is not None:
            self._left -= size
            if self._left < 0:
                self._transport.abort()
