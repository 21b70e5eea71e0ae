"""Forks children that end at once and are never reaped."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from sandbox.protocol import Limits

LIMIT = 32


def probe(given: dict[str, Any]) -> str | None:
    import os

    made = 0
    try:
        while made < given["enough"]:
            if os.fork() == 0:
                os._exit(0)
            made += 1
    except OSError:
        return None
    return f"{made} zombies"


ATTACK = Attack(
    probe,
    expects="a zombie counts as a process until it is reaped",
    limits=Limits(processes=LIMIT),
    given={"enough": 2 * LIMIT},
)
