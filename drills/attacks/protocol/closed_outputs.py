"""Closes its outputs and every other descriptor, and goes on."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Instead
from drills.attacks.drives import survived
from drills.attacks.judges import answered
from sandbox.protocol import End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os
    import time

    os.closerange(0, 256)
    time.sleep(0.3)
    os._exit(5)


def hangs(given: dict[str, Any]) -> str | None:
    import time

    time.sleep(60)
    return None


ATTACK = Attack(
    probe,
    expects="the program is waited for, not its outputs: exit code 5",
    limits=Limits(wall_seconds=4.0),
    drive=survived,
    judge=answered(End.EXITED, 5),
    control=Instead(hangs),
)
