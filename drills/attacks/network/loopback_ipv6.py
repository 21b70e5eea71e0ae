"""Connects to what listens on the host's loopback by IPv6, and by IPv4 dressed as IPv6."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import socket

    mark, servers = given["mark"].encode(), given["servers"]
    dressed = ("::ffff:127.0.0.1", servers["tcp"][1])
    for address in (tuple(servers.get("tcp6", dressed)[:2]), dressed):
        try:
            with socket.create_connection(address, 2) as link:
                link.sendall(mark)
                return f"{address[0]} answered {len(link.recv(100))} bytes"
        except OSError:
            continue
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as loose:
            loose.settimeout(0.5)
            loose.sendto(mark, ("::ffff:127.0.0.1", servers["udp"][1]))
            return f"::ffff:127.0.0.1 answered {len(loose.recv(100))} bytes"
    except OSError:
        return None


ATTACK = Attack(probe, expects="the room's loopback is its own, and nobody listens there")
