"""Leaves symbolic links to folders of the host, one in the place of a folder that was laid."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.careless import careless
from drills.attacks.steps.homecoming import came_home, homecoming
from drills.attacks.steps.secrets import holds


def probe(given: dict[str, Any]) -> str | None:
    import os
    import shutil

    with open("honest.txt", "w") as file:
        file.write("honest work\n")
    shutil.rmtree("laid")
    os.symlink(os.path.dirname(given["files"][0]), "laid")
    os.makedirs("deep/er")
    for number, path in enumerate(given["files"]):
        os.symlink(os.path.dirname(path), f"deep/er/folder-{number}")
    os.symlink("/", "root")
    return careless(given)


ATTACK = Attack(
    probe,
    expects="no file comes home from behind such a link; the honest file does",
    files={"laid/data.txt": b"laid\n"},
    given={"comes": ["honest.txt"], "never": ["laid/data.txt"]},
    uses=(holds, careless),
    drive=homecoming,
    judge=came_home,
)
