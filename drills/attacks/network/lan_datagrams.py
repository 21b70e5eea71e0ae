"""Sends datagrams to a host of the LAN and to its name server (stand-ins for both)."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import socket

    found = [name for _, name in socket.if_nameindex() if name != "lo"]
    if not given["enclosed"]:  # the stand-ins' addresses would be someone else's
        return f"interfaces that lead out: {found}" if found else None
    for name in ("lan_udp", "dns"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loose:
            loose.settimeout(0.5)
            try:
                loose.sendto(given["mark"].encode(), tuple(given["servers"][name]))
                return f"{name} answered {len(loose.recv(100))} bytes"
            except OSError:
                continue
    return None


ATTACK = Attack(probe, expects="no route leads anywhere but to the room's own loopback")
