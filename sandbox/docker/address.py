"""Where an engine is, and how to get a connection to it: unix, or tcp with or without TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sandbox.protocol import SandboxUnavailable

DEFAULT = "unix:///var/run/docker.sock"
CONNECT_SECONDS = 10.0
BUFFER_BYTES = 1024 * 1024
_PORTS = {False: 2375, True: 2376}


@dataclass(frozen=True, slots=True)
class Tls:
    """Files in PEM: who may vouch for the engine, and who we are to it."""

    ca: Path
    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Address:
    """One engine. `place` is a socket's path for unix, else a host."""

    scheme: str
    place: str
    port: int | None = None
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        return f"{self.scheme}://{self.place}" + (f":{self.port}" if self.port else "")


class Connection:
    """One connection: a reader and a writer, closed without waiting for the other side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def close(self) -> None:
        """Drop it: what is not yet sent is lost."""
        self.writer.transport.abort()


def parse(host: str, tls: Tls | None = None) -> Address:
    """An address as in DOCKER_HOST. Raises SandboxUnavailable for one that cannot be meant."""
    parts = urlsplit(host)
    try:
        port = parts.port
    except ValueError as error:
        raise SandboxUnavailable(f"not an engine's address: {host!r}: {error}") from error
    if parts.scheme == "unix" and parts.path:
        return Address("unix", parts.path)
    if parts.scheme == "tcp" and parts.hostname:
        context = None if tls is None else _context(tls)
        return Address("tcp", parts.hostname, port or _PORTS[tls is not None], context)
    raise SandboxUnavailable(
        f"not an engine's address: {host!r}. One is unix:///PATH or tcp://HOST:PORT"
    )


async def connect(address: Address) -> Connection:
    """Raises OSError (ssl.SSLError is one) where nobody answers within `CONNECT_SECONDS`."""
    async with asyncio.timeout(CONNECT_SECONDS):
        if address.scheme == "unix":
            streams = await asyncio.open_unix_connection(address.place, limit=BUFFER_BYTES)
            return Connection(*streams)
        streams = await asyncio.open_connection(
            address.place, address.port, ssl=address.tls, limit=BUFFER_BYTES
        )
    # A container is spoken to once in an hour perhaps; who has gone is to be noticed.
    there = streams[1].get_extra_info("socket")
    there.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, seconds in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        there.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)
    return Connection(*streams)


def _context(tls: Tls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca)
        context.load_cert_chain(tls.certificate, tls.key)
    except (OSError, ssl.SSLError) as error:
        raise SandboxUnavailable(
            f"the certificates for the engine cannot be read: {error} "
            f"({tls.ca}, {tls.certificate}, {tls.key})"
        ) from error
    return context
