"""Opens the terminal of a run that goes on at the same time."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import beside, ready


def holder(given: dict[str, Any]) -> str | None:
    import os
    import select

    try:
        ours, theirs = os.openpty()
    except OSError:  # a room without terminals has none to be opened
        ours, theirs = os.pipe()
    os.set_inheritable(theirs, True)
    ready(given)
    if select.select([ours], [], [], given["seconds"])[0]:
        return f"a neighbour wrote {os.read(ours, 100)!r} to this run's terminal"
    return None


def probe(given: dict[str, Any]) -> str | None:
    import os

    try:
        names = [name for name in os.listdir("/dev/pts") if name.isdigit()]
    except OSError:
        return None
    for name in names:
        try:
            os.close(os.open(f"/dev/pts/{name}", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK))
            return f"the terminal /dev/pts/{name} of another"
        except OSError:
            continue
    return f"terminals of others: {names}" if names else None


ATTACK = Attack(
    probe,
    expects="each run has a devpts of its own, empty at its start",
    uses=(ready,),
    drive=beside(holder),
)
