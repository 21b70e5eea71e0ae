"""Listens to everything on the wire, and writes frames of its own: packet sockets."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare


def probe(given: dict[str, Any]) -> str | None:
    import socket

    for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
        for protocol in (0, 0x0300):  # ETH_P_ALL, in network order
            try:
                socket.socket(socket.AF_PACKET, kind, protocol).close()
            except OSError:
                continue
            return f"a packet socket, {kind.name}"
    return None


ATTACK = Attack(
    probe,
    expects="none can be made",
    control=Bare(root=True, within=("--net",)),
)
