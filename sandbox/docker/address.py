"""Where an engine is, and how to get a connection to it: unix, tcp with or without TLS, ssh."""

from __future__ import annotations

import asyncio
import contextlib
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
    """One engine. `place` is a socket's path for unix, else a host with an optional user."""

    scheme: str
    place: str
    port: int | None = None
    tls: ssl.SSLContext | None = None

    def __str__(self) -> str:
        return f"{self.scheme}://{self.place}" + (f":{self.port}" if self.port else "")


class Connection:
    """One connection: a reader and a writer, closed without waiting for the other side."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        process: asyncio.subprocess.Process | None = None,
    ) -> None:
        self.reader, self.writer, self._process = reader, writer, process

    def close(self) -> None:
        """Drop it: what is not yet sent is lost."""
        transport = self.writer.transport
        if self._process is None or not transport.is_closing():  # a pipe's cannot be ended twice
            transport.abort()
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()


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
    if parts.scheme == "ssh" and parts.hostname and not parts.hostname.startswith("-"):
        user = f"{parts.username}@" if parts.username else ""
        return Address("ssh", user + parts.hostname, port)
    raise SandboxUnavailable(
        f"not an engine's address: {host!r}. One is unix:///PATH, tcp://HOST:PORT or "
        "ssh://USER@HOST"
    )


async def connect(address: Address) -> Connection:
    """Raises OSError (ssl.SSLError is one) where nobody answers within `CONNECT_SECONDS`."""
    async with asyncio.timeout(CONNECT_SECONDS):
        if address.scheme == "unix":
            streams = await asyncio.open_unix_connection(address.place, limit=BUFFER_BYTES)
            return Connection(*streams)
        if address.scheme == "tcp":
            streams = await asyncio.open_connection(
                address.place, address.port, ssl=address.tls, limit=BUFFER_BYTES
            )
            # A container is spoken to once in an hour perhaps; who has gone is to be noticed.
            there = streams[1].get_extra_info("socket")
            there.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for name, seconds in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
                there.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), seconds)
            return Connection(*streams)
        return await _over_ssh(address)


async def _over_ssh(address: Address) -> Connection:
    """As `docker -H ssh://` does it: the far `docker` passes its engine's socket through."""
    port = ("-p", str(address.port)) if address.port else ()
    process = await asyncio.create_subprocess_exec(
        *("ssh", "-o", "BatchMode=yes", *port, "--", address.place),
        *("docker", "system", "dial-stdio"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
        limit=BUFFER_BYTES,
    )
    if process.stdout is None or process.stdin is None:
        raise OSError("ssh was started without pipes")
    return Connection(process.stdout, process.stdin, process)


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
