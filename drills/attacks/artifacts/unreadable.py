"""Locks its files and folders: mode 000, no way in, no way to list."""

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
    for mode in (0o000, 0o111, 0o222, 0o444, 0o1000):
        os.makedirs(f"folder-{mode}/in")
        for path in (f"folder-{mode}/x", f"folder-{mode}/in/x", f"file-{mode}"):
            with open(path, "w") as file:
                file.write("locked\n")
            os.chmod(path, mode)
        os.chmod(f"folder-{mode}/in", mode)
        os.chmod(f"folder-{mode}", mode)
    if given["careless"]:  # where these two are another's
        return careless(given)
    for path in ("laid.txt", "."):
        os.chmod(path, 0)
    return None


ATTACK = Attack(
    probe,
    expects="the collector unlocks what it may, and gives the run its answer",
    files={"laid.txt": b"laid\n"},
    given={"comes": ["honest.txt"]},
    uses=(holds, careless),
    drive=and_on,
    judge=came_home,
)
