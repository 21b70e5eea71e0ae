"""Asks for the rarer transports of the internet families: MPTCP, SCTP, DCCP, UDP-Lite, L2TP."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.scene import Scene
from drills.attacks.seen import Seen
from drills.attacks.steps.families import unloaded

MPTCP, UDP_LITE = 262, 136
RARE = {"DCCP": 33, "L2TP": 115, "SCTP": 132, "UDP-Lite": UDP_LITE, "SMC": 256, "MPTCP": MPTCP}


def probe(given: dict[str, Any]) -> str | None:
    import socket

    made = []
    for name, protocol in given["protocols"].items():
        for family in (socket.AF_INET, socket.AF_INET6):
            for kind in (1, 2, 5, 6):  # stream, datagram, sequenced packets, DCCP's own
                try:
                    socket.socket(family, kind, protocol).close()
                except OSError:
                    continue
                made.append(name)
    return f"sockets of {', '.join(dict.fromkeys(made))}" if made else None


async def drive(scene: Scene) -> Seen:
    """A control loads no transport that lies unused: it takes those that are there."""
    there = {name: number for name, number in RARE.items() if unloaded(name)() is None}
    return await scene.run(given={"protocols": there if scene.is_control else RARE})


def absent() -> str | None:
    if any(unloaded(name)() is None for name in RARE):
        return None
    return f"its kernel has none of {', '.join(RARE)} loaded"


ATTACK = Attack(probe, expects="TCP and UDP are all there is", drive=drive, absent=absent)
