"""Asks for a socket of every family there ever was: bluetooth, CAN, TIPC, RDS, X.25 and others."""

from __future__ import annotations

from dataclasses import replace

from drills.attacks.scene import Scene
from drills.attacks.seen import Seen
from drills.attacks.steps.families import refused

PACKET = {"17": 17}
USUAL = {1, 2, 10, 16}  # unix, IPv4, IPv6, netlink


async def drive(scene: Scene) -> Seen:
    """A control loads no family that lies unused: it takes one that is there."""
    every = {str(each): each for each in range(1, 48) if each not in USUAL}
    return await scene.run(given={"families": PACKET if scene.is_control else every})


ATTACK = replace(refused(PACKET, "PACKET"), drive=drive)
