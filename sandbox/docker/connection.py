"""Connections to an engine (unix, or tcp with or without TLS), and the streams of a container."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sandbox.protocol import SandboxUnavailable

DEFAULT_ENGINE = "unix:///var/run/docker.sock"
CONNECT_SECONDS = 10.0
BUFFER_BYTES = 1024 * 1024
_DEFAULT_PORT, _DEFAULT_TLS_PORT = 2375, 2376
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 15), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))
"""Seconds until the first probe, seconds between probes, number of probes."""

STDOUT, STDERR = 1, 2
STDERR_BYTES = 4096
_PART_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Files in PEM format for a connection with TLS."""

    ca: Path
    """The authority of the engine's certificate."""
    certificate: Path
    """The client's certificate, and its key."""
    key: Path


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """The address of an engine."""

    scheme: str
    """`unix` or `tcp`."""
    path_or_host: str
    """The path of the socket for `unix`, else a host."""
    port: int | None = None
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        return f"{self.scheme}://{self.path_or_host}" + (f":{self.port}" if self.port else "")


class EngineConnection:
    """A reader and a writer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def close(self) -> None:
        """Close the connection at once: unsent data is lost."""
        self.writer.transport.abort()


def parse_address(text: str, tls: TlsFiles | None = None) -> EngineAddress:
    """An address as in DOCKER_HOST. Raises SandboxUnavailable for an invalid address."""
    parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError as error:
        raise SandboxUnavailable(f"not an engine's address: {text!r}: {error}") from error
    if parts.scheme == "unix" and parts.path:
        return EngineAddress("unix", parts.path)
    if parts.scheme == "tcp" and parts.hostname:
        context = None if tls is None else _load_tls(tls)
        default_port = _DEFAULT_PORT if tls is None else _DEFAULT_TLS_PORT
        return EngineAddress("tcp", parts.hostname, port or default_port, context)
    raise SandboxUnavailable(
        f"not an engine's address: {text!r}. Use unix:///PATH or tcp://HOST:PORT"
    )


async def connect(address: EngineAddress) -> EngineConnection:
    """Raises OSError (also ssl.SSLError) if no engine answers within `CONNECT_SECONDS`."""
    async with asyncio.timeout(CONNECT_SECONDS):
        if address.scheme == "unix":
            streams = await asyncio.open_unix_connection(address.path_or_host, limit=BUFFER_BYTES)
            return EngineConnection(*streams)
        streams = await asyncio.open_connection(
            address.path_or_host, address.port, ssl=address.tls, limit=BUFFER_BYTES
        )
    # A connection to a container may be idle for an hour, and the end of the peer must be noticed.
    tcp_socket = streams[1].get_extra_info("socket")
    tcp_socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        tcp_socket.setsockopt(socket.IPPROTO_TCP, option, value)
    return EngineConnection(*streams)


class ContainerStreams:
    """Reads stdout of a container without a terminal; keeps the end of its stderr.

    An engine sends both streams in pieces. Each piece has a header: the number of the stream (1
    stdout, 2 stderr), three zero bytes and a size (4 bytes, big-endian). The header is the
    engine's, but the piece is the sandbox's. Data is read only when it is requested, so a flood of
    output stays in the sandbox's own pipes.
    """

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._piece_bytes = 0
        """The unread bytes of the current piece of stdout."""
        self._stderr = bytearray()

    async def readexactly(self, size: int) -> bytes:
        """`size` bytes of stdout. Raises asyncio.IncompleteReadError if the container has ended, or
        if the data is not an engine's.
        """
        data = bytearray()
        while len(data) < size:
            if not self._piece_bytes:
                await self._next_piece(data, size)
            part = await self._reader.read(min(self._piece_bytes, size - len(data)))
            if not part:
                raise asyncio.IncompleteReadError(bytes(data), size)
            self._piece_bytes -= len(part)
            data += part
        return bytes(data)

    @property
    def stderr_tail(self) -> str:
        """The end of stderr, at most 4 KiB."""
        return self._stderr.decode(errors="replace").strip()

    async def _next_piece(self, partial_data: bytearray, expected: int) -> None:
        """Go to the next piece of stdout."""
        while not self._piece_bytes:
            header = await self._reader.readexactly(8)
            size = int.from_bytes(header[4:], "big")
            if header[0] == STDERR:
                await self._read_stderr(size)
            elif header[0] == STDOUT:
                self._piece_bytes = size
            else:
                raise asyncio.IncompleteReadError(bytes(partial_data), expected)

    async def _read_stderr(self, size: int) -> None:
        while size:
            part = await self._reader.read(min(size, _PART_BYTES))
            if not part:
                return
            size -= len(part)
            self._stderr += part
            del self._stderr[:-STDERR_BYTES]


def _load_tls(tls: TlsFiles) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca)
        context.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as error:
        raise SandboxUnavailable(
            f"the certificates for the engine cannot be read: {error} "
            f"({tls.ca}, {tls.certificate}, {tls.key})"
        ) from error
    return context
