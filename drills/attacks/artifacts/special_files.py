"""Leaves a socket, and the one device node that anybody may make (0, 0)."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.careless import careless
from drills.attacks.steps.homecoming import came_home, homecoming
from drills.attacks.steps.secrets import holds


def probe(given: dict[str, Any]) -> str | None:
    import os
    import socket
    import stat

    with open("honest.txt", "w") as file:
        file.write("honest work\n")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("a.png")
    try:
        os.mknod("device.png", stat.S_IFCHR | 0o666, os.makedev(0, 0))
    except OSError:
        pass
    for kind in (stat.S_IFCHR, stat.S_IFBLK):
        try:
            os.mknod("null", kind | 0o666, os.makedev(1, 3))
        except OSError:
            continue
        os.remove("null")
        return "a device node of a real device in its work area"
    return careless(given)


ATTACK = Attack(
    probe,
    expects="neither comes home, and the honest file does",
    given={"comes": ["honest.txt"], "never": ["a.png", "device.png"]},
    uses=(holds, careless),
    drive=homecoming,
    judge=came_home,
)
