"""Streams: a connection's bytes, as they are or within TLS that ends here."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import TypeVar

_CHUNK = 64 * 1024
_T = TypeVar("_T")


class Stream:
    """A connection. Reading and writing raise OSError."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def read(self) -> bytes:
        """Some bytes; none at its end."""
        return await self.reader.read(_CHUNK)

    async def write(self, data: bytes) -> None:
        """Send all of it."""
        self.writer.write(data)
        await self.writer.drain()


class TlsStream(Stream):
    """The server's side of TLS within a connection. It is `ssl` over memory, for asyncio's own way
    leaves the connection's first stream without an end."""

    def __init__(self, within: Stream, context: ssl.SSLContext) -> None:
        super().__init__(within.reader, within.writer)
        self._within = within
        self._coming, self._going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._coming, self._going, server_side=True)

    async def shake_hands(self, seconds: float) -> None:
        """Begin. Raises OSError, also where it takes longer."""
        async with asyncio.timeout(seconds):
            await self._done(self._tls.do_handshake)

    async def read(self) -> bytes:
        """See Stream."""
        try:
            return await self._done(lambda: self._tls.read(_CHUNK))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    async def write(self, data: bytes) -> None:
        """See Stream."""
        if data:
            await self._done(lambda: self._tls.write(data))

    async def _done(self, step: Callable[[], _T]) -> _T:
        """The step's result, once enough has come for it; what it has to send is sent."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                await self._sent()
                if data := await self._within.read():
                    self._coming.write(data)
                else:
                    self._coming.write_eof()
            finally:
                await self._sent()

    async def _sent(self) -> None:
        if data := self._going.read():
            await self._within.write(data)
