"""Reads the kernel's table of locks, where every process of the machine may show what it likes."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import beside, ready


def word(mark: str) -> int:
    """Where in a file the holder locks: a number that says whose lock it is."""
    return int(mark.removeprefix("mark-")[:12], 16) + 1


def holder(given: dict[str, Any]) -> str | None:
    import fcntl
    import os
    import struct
    import time

    file = os.open("own", os.O_RDWR | os.O_CREAT)
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, word(given["theirs"]), 1, 0)
    try:
        fcntl.fcntl(file, 37, lock)  # F_OFD_SETLK: a lock of the open file, and of no process
    except OSError:
        fcntl.fcntl(file, fcntl.F_SETLK, lock)
    ready(given)
    time.sleep(given["seconds"])
    return None


def probe(given: dict[str, Any]) -> str | None:
    try:
        with open("/proc/locks") as file:
            lines = file.read(1 << 20).splitlines()
    except OSError:
        return None
    wanted = str(word(given["theirs"]))
    return next((f"a neighbour's lock: {line}" for line in lines if wanted in line), None)


ATTACK = Attack(
    probe,
    expects="no lock of another run shows, nor any of the host's",
    uses=(ready, word),
    drive=beside(holder),
)
