"""Speaks to other parts of the kernel by netlink: audit, firewall, IPsec, device events."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.scene import Scene
from drills.attacks.seen import Seen


def probe(given: dict[str, Any]) -> str | None:
    import socket

    made = []
    for protocol in given["protocols"]:
        try:
            socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).close()
        except OSError:
            continue
        made.append(str(protocol))
    return f"netlink sockets of families {', '.join(made)}" if made else None


async def drive(scene: Scene) -> Seen:
    """All but 0, the routes, which programs ask for. A control loads no part that lies unused: it
    takes those that every kernel has (device events, generic)."""
    return await scene.run(given={"protocols": [15, 16] if scene.is_control else [*range(1, 32)]})


ATTACK = Attack(probe, expects="none but that of routes can be made", drive=drive)
