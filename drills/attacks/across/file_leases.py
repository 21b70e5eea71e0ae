"""Leases files that every run opens: a neighbour's opening waits, and the holder learns of it."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import beside, ready


def wanted(given: dict[str, Any]) -> list[str]:
    """Files that any program opens to know users and hosts; and one of the holder's own."""
    names = ("passwd", "group", "hosts", "nsswitch.conf", "ld.so.cache", "fonts/fonts.conf")
    return [*(f"/etc/{name}" for name in names), f"/tmp/{given['theirs']}"]


def holder(given: dict[str, Any]) -> str | None:
    import fcntl
    import os
    import signal
    import time

    signal.signal(signal.SIGIO, signal.SIG_IGN)  # it tells of a neighbour
    own = wanted(given)[-1]
    with open(own, "wb"):
        pass
    kept = []
    try:
        for path in wanted(given):
            try:
                kept.append(os.open(path, os.O_RDONLY))
                fcntl.fcntl(kept[-1], 1024, fcntl.F_WRLCK)  # F_SETLEASE: nobody else may open it
            except OSError:
                continue
        ready(given)
        time.sleep(given["seconds"])
    finally:
        os.unlink(own)
    return None


def probe(given: dict[str, Any]) -> str | None:
    import os

    for path in wanted(given):
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        except BlockingIOError:
            return f"a neighbour holds a lease on {path}"
        except OSError:
            continue
    return None


ATTACK = Attack(
    probe,
    expects="nobody can keep another run from opening a file",
    uses=(ready, wanted),
    drive=beside(holder),
)
