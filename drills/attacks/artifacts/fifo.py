"""Leaves named pipes, one in the place of a file that was laid: who opens them waits."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.careless import careless
from drills.attacks.steps.homecoming import came_home, homecoming
from drills.attacks.steps.secrets import holds


def probe(given: dict[str, Any]) -> str | None:
    import os

    with open("honest.txt", "w") as file:
        file.write("honest work\n")
    os.remove("laid.txt")
    for name in ("a.png", "laid.txt", "z.csv"):
        os.mkfifo(name)
    return careless(given)


ATTACK = Attack(
    probe,
    expects="no pipe is opened, and nobody waits; the honest file comes home",
    files={"laid.txt": b"laid\n"},
    given={"comes": ["honest.txt"], "never": ["a.png", "laid.txt", "z.csv"]},
    uses=(holds, careless),
    drive=homecoming,
    judge=came_home,
)
