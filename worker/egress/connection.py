"""The connection of a proxy's client: HTTP over plain bytes, or over TLS that ends here."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from typing import TypeVar

import h11
import httpx

from agents.errors import ToolRefused

CHUNK_BYTES = 64 * 1024

Headers = list[tuple[bytes, bytes]]
T = TypeVar("T")


class ByteStream:
    """The bytes of a connection. Reading and writing raise OSError."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def read(self) -> bytes:
        """Some bytes; empty at the end of the connection."""
        return await self.reader.read(CHUNK_BYTES)

    async def write(self, data: bytes) -> None:
        """Send all bytes."""
        self.writer.write(data)
        await self.writer.drain()


class TlsStream(ByteStream):
    """The server's side of TLS within a connection. It uses `ssl` over memory, because asyncio's
    `start_tls` does not close the first stream of the connection."""

    def __init__(self, inner: ByteStream, context: ssl.SSLContext) -> None:
        super().__init__(inner.reader, inner.writer)
        self._inner = inner
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    async def shake_hands(self, seconds: float) -> None:
        """Begin TLS. Raises OSError, also after `seconds`."""
        async with asyncio.timeout(seconds):
            await self._complete(self._tls.do_handshake)

    async def read(self) -> bytes:
        """See ByteStream."""
        try:
            return await self._complete(lambda: self._tls.read(CHUNK_BYTES))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return b""

    async def write(self, data: bytes) -> None:
        """See ByteStream."""
        if data:
            await self._complete(lambda: self._tls.write(data))

    async def _complete(self, step: Callable[[], T]) -> T:
        """The result of a step of TLS: read until it has enough bytes, and send its output."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                await self._send_outgoing()
                if data := await self._inner.read():
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            finally:
                await self._send_outgoing()

    async def _send_outgoing(self) -> None:
        if data := self._outgoing.read():
            await self._inner.write(data)


class ClientConnection:
    """The connection of a client to the proxy. h11 parses its requests: no byte of a request is a
    byte of the framing that the host gets. All methods raise OSError and h11.ProtocolError."""

    def __init__(self, stream: ByteStream, received: bytes) -> None:
        """`received` are the first bytes, if they were read already."""
        self.tunnel_target: httpx.URL | None = None
        """The host that all requests go to, after a CONNECT over TLS that ends here."""
        self._stream, self._http = stream, h11.Connection(h11.SERVER)
        if received:
            self._http.receive_data(received)

    async def next_request(self) -> h11.Request | None:
        """The next request; None at the end of the connection."""
        event = await self._next_event()
        return event if isinstance(event, h11.Request) else None

    async def body(self) -> AsyncIterator[bytes]:
        """The parts of the request's body."""
        while isinstance(event := await self._next_event(), h11.Data):
            yield bytes(event.data)

    async def read_body(self, max_bytes: int) -> bytes:
        """The request's body. Raises ToolRefused if it is larger."""
        body = bytearray()
        async for part in self.body():
            body += part
            if len(body) > max_bytes:
                raise ToolRefused(
                    f"a setup may only read: a body of over {max_bytes} bytes is refused"
                )
        return bytes(body)

    async def begin_response(self, status: int, headers: Headers) -> None:
        """Send the head of a response."""
        await self.send(h11.Response(status_code=status, headers=headers))

    async def send(self, event: h11.Event) -> None:
        """Send a part of a response."""
        await self._stream.write(self._http.send(event) or b"")

    async def send_status(self, status: int) -> None:
        """Send a response without a body. If a response has begun, the connection ends within it:
        raises ConnectionAbortedError."""
        if self._http.our_state is not h11.SEND_RESPONSE:
            raise ConnectionAbortedError
        await self.begin_response(status, [(b"content-length", b"0"), (b"connection", b"close")])
        await self.send(h11.EndOfMessage())

    async def start_tls(self, context: ssl.SSLContext, target: httpx.URL, seconds: float) -> None:
        """Accept a CONNECT, and continue with HTTP over TLS."""
        await self.begin_response(200, [])
        stream = TlsStream(self._stream, context)
        await stream.shake_hands(seconds)
        self.tunnel_target, self._stream = target, stream
        self._http = h11.Connection(h11.SERVER)

    async def start_tunnel(self) -> tuple[ByteStream, bytes]:
        """Accept a CONNECT, and continue with bytes that the proxy does not read: the stream, and
        the bytes that came with the request."""
        await self.begin_response(200, [])
        return self._stream, self._http.trailing_data[0]

    def may_continue(self) -> bool:
        """Whether another request may follow."""
        if (self._http.our_state, self._http.their_state) == (h11.DONE, h11.DONE):
            self._http.start_next_cycle()
        return self._http.our_state is h11.IDLE

    async def _next_event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._stream.read())
        return event
