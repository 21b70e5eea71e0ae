"""Uses what was left open to it: sockets by which descriptors of the host could be passed on."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import array
    import os
    import socket
    import stat

    opened = []
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        try:
            kind, leads = os.fstat(number).st_mode, os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue  # that of the listing itself
        if stat.S_ISSOCK(kind):
            with socket.socket(fileno=os.dup(number)) as link:
                try:
                    flags = socket.MSG_DONTWAIT | socket.MSG_PEEK
                    room = socket.CMSG_SPACE(64 * array.array("i").itemsize)
                    _, passed, _, _ = link.recvmsg(1, room, flags)
                    opened.append(f"socket {number}, with {len(passed)} messages of rights")
                except OSError:
                    opened.append(f"socket {number}")
        elif number > 2:
            opened.append(f"{number}: {leads}")
    return ", ".join(opened) or None


ATTACK = Attack(probe, expects="nothing but its standard streams is open, and none is a socket")
