"""Asks to be sent a signal when a neighbour uses a directory that every run sees (dnotify)."""

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
        for path in ("/etc/hosts", "/etc/passwd", f"{os.path.dirname(os.__file__)}/this.py"):
            with open(path, "rb") as file:
                file.read(1)
        time.sleep(0.02)
    return None


def probe(given: dict[str, Any]) -> str | None:
    import fcntl
    import os
    import signal

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGIO})
    asked = []
    for path in ("/etc", os.path.dirname(os.__file__)):
        try:
            directory = os.open(path, os.O_RDONLY)
            fcntl.fcntl(directory, fcntl.F_NOTIFY, fcntl.DN_ACCESS | fcntl.DN_MULTISHOT)
            asked.append(path)
        except OSError:
            continue
    if asked and signal.sigtimedwait({signal.SIGIO}, 1.2):
        return f"a signal for a neighbour's use of {' or '.join(asked)}"
    return None


ATTACK = Attack(
    probe,
    expects="what a run opens is not told to others",
    uses=(ready,),
    drive=beside(holder),
)
