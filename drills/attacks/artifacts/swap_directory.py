"""Swaps a folder and a link to a folder of the host, on and on, while the run ends."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.homecoming import came_home, homecoming
from drills.attacks.steps.restless import exchange, outrun, restless
from drills.attacks.steps.secrets import holds


def probe(given: dict[str, Any]) -> str | None:
    import os

    home, _, name = given["files"][0].rpartition("/")
    os.makedirs("out/in")
    for folder in ("out", "out/in"):
        with open(f"{folder}/{name}", "w") as file:
            file.write("honest work\n")
    os.symlink(home, "link")
    pid = restless(given, exchange("out", "link"))
    if not given["careless"]:
        os.symlink(home, "link-in")
        restless(given, exchange("out/in", "link-in"))
    return outrun(given, f"out/{name}", "out", pid) if given["careless"] else None


ATTACK = Attack(
    probe,
    expects="no folder is entered through a link, however it is timed",
    uses=(holds, exchange, restless, outrun),
    drive=homecoming,
    judge=came_home,
)
