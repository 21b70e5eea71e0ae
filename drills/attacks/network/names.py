"""Looks up a name, to tell what it has read to whoever answers for that: DNS."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import socket
    import struct
    import time

    name = f"{given['mark']}.example"
    found = [each for _, each in socket.if_nameindex() if each != "lo"]
    if given["enclosed"]:
        labels = b"".join(bytes([len(each)]) + each.encode() for each in name.split("."))
        question = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + labels + struct.pack(">BHH", 0, 1, 1)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loose:
            loose.settimeout(0.5)
            try:
                loose.sendto(question, tuple(given["servers"]["dns"]))
                return f"a name server answered {len(loose.recv(100))} bytes"
            except OSError:
                pass
    if found:  # where the resolver asks whom it wants, nothing is asked
        return f"a name server could be reached by {found}"
    started = time.monotonic()
    try:
        return f"{name} is {socket.getaddrinfo(name, 80)[0][4]}"
    except OSError:
        seconds = time.monotonic() - started
    return f"it took {seconds:.1f} s to be told that there is none" if seconds > 2 else None


ATTACK = Attack(probe, expects="there is no such name, at once, and no question leaves the room")
