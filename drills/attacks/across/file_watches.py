"""Watches the library that all runs share, to see what a neighbour opens."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import beside, ready


def holder(given: dict[str, Any]) -> str | None:
    import os
    import time

    ready(given)
    until = time.monotonic() + given["seconds"]
    while time.monotonic() < until:
        with open(f"{os.path.dirname(os.__file__)}/this.py", "rb") as file:
            file.read(1)
        time.sleep(0.02)
    return None


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os
    import select

    libc = ctypes.CDLL(None, use_errno=True)
    folder = os.path.dirname(os.__file__)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    if watch < 0:
        return None
    # Nobody else opens this module. What a run imports tells what it works on.
    for path in (f"{folder}/this.py", folder):
        libc.inotify_add_watch(watch, path.encode(), 0x20)  # IN_OPEN
    if select.select([watch], [], [], 1.2)[0]:
        events = os.read(watch, 4096)
        if len(events) > 16 and b"this.py" not in events:
            return "someone opened a module of the library"
        return "a neighbour opened this.py"
    return None


ATTACK = Attack(
    probe,
    expects="what a run opens is not told to others",
    uses=(ready,),
    drive=beside(holder),
)
