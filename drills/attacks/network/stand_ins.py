"""Connects to a host of the LAN and to the cloud's metadata address (stand-ins for both)."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import socket

    # What leads out is told before anything is sent: where the drill could not make a network of
    # its own, the stand-ins' addresses would be someone else's.
    found = [name for _, name in socket.if_nameindex() if name != "lo"]
    if not given["enclosed"]:
        return f"interfaces that lead out: {found}" if found else None
    for name in ("lan", "metadata", "lan6"):
        try:
            with socket.create_connection(tuple(given["servers"][name][:2]), 2) as link:
                link.sendall(given["mark"].encode())
                return f"{name} answered {len(link.recv(100))} bytes"
        except (OSError, KeyError):
            continue
    return None


ATTACK = Attack(probe, expects="no route leads anywhere but to the room's own loopback")
