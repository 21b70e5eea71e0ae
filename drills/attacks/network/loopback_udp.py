"""Sends datagrams to what listens on the host's loopback: UDP, with and without a connection."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import socket

    port = given["servers"]["udp"][1]
    for host in ("127.0.0.1", "127.0.0.2"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loose:
            loose.settimeout(0.5)
            try:
                loose.sendto(given["mark"].encode(), (host, port))
                return f"{host} answered {len(loose.recv(100))} bytes"
            except OSError:
                pass
            try:
                loose.connect((host, port))
                loose.send(given["mark"].encode())
                return f"{host} answered {len(loose.recv(100))} bytes"
            except OSError:
                continue
    return None


ATTACK = Attack(probe, expects="nobody hears them")
