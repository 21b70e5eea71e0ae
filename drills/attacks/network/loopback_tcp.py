"""Connects to what listens on the host's loopback, by every name of it: TCP, IPv4."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import socket

    port = given["servers"]["tcp"][1]
    for host in ("127.0.0.1", "localhost", "127.0.0.2", "0.0.0.0"):
        try:
            with socket.create_connection((host, port), 2) as link:
                link.sendall(given["mark"].encode())
                return f"{host} answered {len(link.recv(100))} bytes"
        except OSError:
            continue
    return None


ATTACK = Attack(probe, expects="the room's loopback is its own, and nobody listens there")
