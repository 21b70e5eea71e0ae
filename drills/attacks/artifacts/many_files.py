"""Leaves a hundred thousand files."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.careless import careless
from drills.attacks.steps.homecoming import and_on, came_home
from drills.attacks.steps.secrets import holds
from sandbox.protocol import End


def probe(given: dict[str, Any]) -> str | None:
    import os

    made = 0
    try:
        for number in range(6 if given["careless"] else 100):
            os.mkdir(f"d{number}")
            for each in range(1_000):
                os.close(os.open(f"d{number}/{each}", os.O_CREAT | os.O_WRONLY))
                made += 1
    except OSError:  # a room has fewer inodes
        pass
    if made < 5_000:
        raise AssertionError(f"only {made} files could be made")
    return careless(given)


ATTACK = Attack(
    probe,
    expects="as many as the workspace may have come home, the rest is counted, and it is quick",
    ends=frozenset({End.DISK}),
    uses=(holds, careless),
    drive=and_on,
    judge=came_home,
)
