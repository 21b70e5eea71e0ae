"""Leaves links that lead to themselves, to each other, and to what they lie in."""

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
    os.symlink("self", "self")
    os.symlink("pong", "ping")
    os.symlink("ping", "pong")
    os.mkdir("a")
    for number in range(40):
        os.symlink("..", f"a/up-{number}")
    return careless(given)


ATTACK = Attack(
    probe,
    expects="the collector goes through nothing twice, and comes to its end",
    given={"comes": ["honest.txt"]},
    uses=(holds, careless),
    drive=homecoming,
    judge=came_home,
)
