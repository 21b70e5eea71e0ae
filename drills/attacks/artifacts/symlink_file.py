"""Leaves symbolic links to files of the host, absolute and by way of many parents."""

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
    os.symlink(given["files"][0], "laid.txt")
    for number, path in enumerate(given["files"]):
        os.symlink(path, f"plot-{number}.png")
        os.symlink("../" * 20 + path.lstrip("/"), f"relative-{number}.png")
        os.symlink(f"/proc/self/root{path}", f"magic-{number}.png")
    os.symlink("/proc/self/environ", "environ.txt")
    os.symlink("/etc/passwd", "passwd.txt")
    return careless(given)


ATTACK = Attack(
    probe,
    expects="no link comes home, whatever it leads to; the honest file beside them does",
    files={"laid.txt": b"laid\n"},
    given={"comes": ["honest.txt"], "never": ["environ.txt", "passwd.txt", "laid.txt"]},
    uses=(holds, careless),
    drive=homecoming,
    judge=came_home,
)
