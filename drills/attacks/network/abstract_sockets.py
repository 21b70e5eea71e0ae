"""Connects to unix sockets of the host that have a name and no file: abstract ones."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import socket

    mark, servers = given["mark"].encode(), given["servers"]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(2)
        try:
            link.connect(servers["abstract"])
            link.sendall(mark)
            return f"it answered {len(link.recv(100))} bytes"
        except OSError:
            pass
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as loose:
        try:
            loose.sendto(mark, servers["abstract_datagram"])
        except OSError:
            return None
    return "a datagram was taken"


ATTACK = Attack(probe, expects="the room's names are its own")
