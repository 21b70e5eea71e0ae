"""Canary servers: they answer every client with the secret, and record the clients.

One thread serves all of them. They listen on loopback, on the substitute addresses of the drill's
own network namespace (`netspace.py`), and on unix sockets with a path and with an abstract name.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from lab.drills.attacks.environment.netspace import LAN, LAN6, METADATA, Netspace

_HEARD_BYTES = 4096
_MOST = 10_000
LOOPBACK, LOOPBACK6 = "127.0.0.1", "::1"


class Servers:
    """Made by `serving`. `addresses` is the input of probes, as JSON."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._selector = selectors.DefaultSelector()
        self._heard: list[str] = []
        self._stop = threading.Event()
        self.addresses: dict[str, Any] = {}

    def contacts(self, mark: str) -> tuple[str, ...]:
        """The contacts with this mark, each with the name of the server that received it."""
        return tuple(message for message in self._heard if mark in message)

    def listen(self, name: str, kind: int, family: int, address: Any) -> socket.socket:
        """Add a server. Probes know it by its name."""
        server = socket.socket(family, kind)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(address)
        if kind == socket.SOCK_STREAM:
            server.listen(16)
        server.setblocking(False)
        self._selector.register(server, selectors.EVENT_READ, name)
        at = server.getsockname()
        self.addresses[name] = at.decode() if isinstance(at, bytes) else at
        return server

    def serve(self) -> None:
        """Answer until `end`."""
        while not self._stop.is_set():
            for key, _ in self._selector.select(0.05):
                with contextlib.suppress(OSError):
                    self._answer(key.fileobj, key.data)  # type: ignore[arg-type]

    def end(self) -> None:
        """Stop serving; the thread may take a moment."""
        self._stop.set()

    def _answer(self, server: socket.socket, name: str) -> None:
        if server.type == socket.SOCK_DGRAM:
            data, peer = server.recvfrom(_HEARD_BYTES)
            self._hear(name, data)
            if peer:
                server.sendto(self._secret, peer)
            return
        peer_socket, _ = server.accept()
        with peer_socket:
            peer_socket.settimeout(0.5)
            peer_socket.sendall(self._secret + b"\n")
            self._hear(name, peer_socket.recv(_HEARD_BYTES))

    def _hear(self, name: str, data: bytes) -> None:
        if len(self._heard) < _MOST:
            self._heard.append(f"{name}: {data.decode(errors='replace')[:200]}")


@contextmanager
def serving(secret: str, folder: Path, netspace: Netspace | None) -> Iterator[Servers]:
    """The canary servers; those that need the drill's own namespace only if it exists."""
    servers = Servers(secret)
    path = folder / "canary.sock"
    with ExitStack() as stack:
        for name, kind, family, address in _server_addresses(secret, path, netspace):
            try:
                stack.enter_context(servers.listen(name, kind, family, address))
            except OSError:
                if name != "tcp6":  # this machine has no IPv6
                    raise
        path.chmod(0o777)  # only the sandbox may keep code from it, and not its mode
        thread = threading.Thread(target=servers.serve, daemon=True)
        thread.start()
        try:
            yield servers
        finally:
            servers.end()
            thread.join()


def _server_addresses(
    secret: str, path: Path, netspace: Netspace | None
) -> Iterator[tuple[str, int, int, Any]]:
    """Name, type, family and address of each server."""
    tcp, udp = socket.SOCK_STREAM, socket.SOCK_DGRAM
    yield "tcp", tcp, socket.AF_INET, (LOOPBACK, 0)
    yield "udp", udp, socket.AF_INET, (LOOPBACK, 0)
    yield "tcp6", tcp, socket.AF_INET6, (LOOPBACK6, 0)
    yield "unix", tcp, socket.AF_UNIX, str(path)
    yield "abstract", tcp, socket.AF_UNIX, f"\0{secret[-16:]}"
    yield "abstract_datagram", udp, socket.AF_UNIX, f"\0{secret[-16:]}-d"
    if netspace is None:
        return
    yield "lan", tcp, socket.AF_INET, (LAN, 80)
    yield "lan_udp", udp, socket.AF_INET, (LAN, 514)
    yield "dns", udp, socket.AF_INET, (LAN, 53)
    yield "metadata", tcp, socket.AF_INET, (METADATA, 80)
    if netspace.ipv6:
        yield "lan6", tcp, socket.AF_INET6, (LAN6, 80)
