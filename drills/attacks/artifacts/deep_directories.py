"""Leaves a thousand folders, one in the other: no path can name the file at the bottom."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.careless import careless
from drills.attacks.steps.homecoming import and_on, came_home
from drills.attacks.steps.secrets import holds


def probe(given: dict[str, Any]) -> str | None:
    import os

    with open("honest.txt", "w") as file:
        file.write("honest work\n")
    top = os.open(".", os.O_RDONLY)
    for _ in range(1_000):
        os.mkdir("deeper-and-deeper")
        os.chdir("deeper-and-deeper")
    with open("bottom.txt", "w") as file:
        file.write("bottom\n")
    os.fchdir(top)
    return careless(given)


ATTACK = Attack(
    probe,
    expects="the collector neither falls nor hangs; the honest file at the top comes home",
    given={"comes": ["honest.txt"]},
    uses=(holds, careless),
    drive=and_on,
    judge=came_home,
)
