"""Flees from whoever kills by pid: each process forks its successor and ends, for 10 s."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.drives import outlived, watched


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os
    import time

    libc = ctypes.CDLL(None)
    until = time.monotonic() + 10
    for _ in range(4):
        if os.fork() == 0:
            os.setsid()
            libc.prctl(
                15, given["mark"][:15].encode(), 0, 0, 0
            )  # its name, which the host looks for
            while time.monotonic() < until:
                if os.fork() > 0:
                    os._exit(0)
                time.sleep(0.2)
            os._exit(0)
    time.sleep(0.5)
    return None


ATTACK = Attack(
    probe,
    expects="the kill takes all processes at one moment: no successor is left after the answer",
    drive=watched,
    judge=outlived,
)
