"""Proxy: an HTTP proxy on loopback for a process that may reach an operator's hosts, and no others.

Each connection is checked against the list and goes to a checked address, as with `EgressClient`.
TLS passes through it unread (CONNECT). A plain request has a connection to itself, and names the
host that was checked, whatever its own header says. ssh, which knows no proxy of this kind, has all
of its connections led to the one host that it may reach. What comes back is bounded in size, over
all connections.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpcore
import httpx

from agents.errors import ToolRefused
from worker.egress.connect import Pinned
from worker.egress.hosts import Hosts, parsed

CONNECT_SECONDS = 10.0
_HEAD_END = b"\r\n\r\n"
_ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_CHUNK = 64 * 1024
_HEADER = re.compile(rb"[!-9;-~]+:[^\r\n]*")
_OURS = re.compile(rb"(?:Connection|Host|Proxy-[A-Za-z-]+):", re.IGNORECASE)
_PORTS = {"https": 443, "http": 80}


@dataclass(slots=True)
class Proxy:
    """`refused` are the requests that were not allowed, `unreached` why connections could not be
    made, both in order. With `to`, each connection leads to this host and port, and asks for
    nothing."""

    hosts: Hosts
    backend: Pinned
    most_bytes: int
    to: tuple[str, int] | None = None
    refused: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)
    _received: int = 0
    _open: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def too_much(self) -> bool:
        """Whether more came back than is allowed."""
        return self._received > self.most_bytes

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Serve until the block ends; gives the proxy's address."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for task in self._open:
                task.cancel()
            await asyncio.gather(*self._open, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._answer(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection, and close it."""
        try:
            if self.to is not None:
                await self._join(reader, writer, self.to)
            else:
                await self._forward(reader, writer, await reader.readuntil(_HEAD_END))
        except ToolRefused as error:
            self.refused.append(str(error))
            self._say(writer, b"403 Forbidden\r\nContent-Length: 0")
        except (OSError, httpcore.NetworkError, httpcore.TimeoutException):
            self._say(writer, b"502 Bad Gateway")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass  # it asked for nothing, or not in HTTP
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _forward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
    ) -> None:
        method, target, _ = head.partition(b"\r\n")[0].decode("ascii").split(" ")
        tunnel = method == "CONNECT"
        url = parsed(f"https://{target}" if tunnel else target)
        self.hosts.require(url)
        host = url.raw_host.decode("ascii")
        place = (host, url.port or _PORTS[url.scheme])
        if tunnel:
            await self._join(reader, writer, place, back=_ESTABLISHED)
        else:
            await self._join(reader, writer, place, first=_to_origin(head, method, url))

    async def _join(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        place: tuple[str, int],
        *,
        first: bytes = b"",
        back: bytes = b"",
    ) -> None:
        """Connect, and pass on what comes from each side; before it `first`, and `back`."""
        try:
            upstream = await self.backend.connect_tcp(*place, CONNECT_SECONDS)
        except (httpcore.NetworkError, httpcore.TimeoutException) as error:
            self.unreached.append(str(error) or type(error).__name__)
            raise
        try:
            writer.write(back)
            await upstream.write(first)
            sending = asyncio.create_task(_copy(reader, upstream))
            try:
                await self._receive(upstream, writer)
            finally:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
        finally:
            await upstream.aclose()

    def _say(self, writer: asyncio.StreamWriter, status: bytes) -> None:
        if self.to is None:
            writer.write(b"HTTP/1.1 %s\r\nConnection: close\r\n\r\n" % status)

    async def _receive(
        self, upstream: httpcore.AsyncNetworkStream, writer: asyncio.StreamWriter
    ) -> None:
        while part := await upstream.read(_CHUNK):
            self._received += len(part)
            if self.too_much:
                self.refused.append(f"the index sent more than {self.most_bytes} bytes")
                return
            writer.write(part)
            await writer.drain()


def _to_origin(head: bytes, method: str, url: httpx.URL) -> bytes:
    """A request to a proxy as the host itself gets it: one on its connection. Raises ValueError for
    lines that a server may read otherwise than we do."""
    lines = head.removesuffix(_HEAD_END).split(b"\r\n")[1:]
    if not all(map(_HEADER.fullmatch, lines)):
        raise ValueError("a header that cannot be read")
    first = b"%s %s HTTP/1.1" % (method.encode("ascii"), url.raw_path)
    own = (b"Host: " + url.netloc, b"Connection: close")
    theirs = (line for line in lines if not _OURS.match(line))
    return b"\r\n".join((first, *own, *theirs)) + _HEAD_END


async def _copy(reader: asyncio.StreamReader, upstream: httpcore.AsyncNetworkStream) -> None:
    while part := await reader.read(_CHUNK):
        await upstream.write(part)
