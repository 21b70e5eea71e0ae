"""Leaves files wherever a run may write; a later run looks for them."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import after

PLACES = (
    *(
        "/tmp",
        "/var/tmp",
        "/dev/shm",
        "/run",
        "/run/lock",
        "/var/lock",
        "/work",
        "/dev/mqueue",
        "/dev",
    ),
    *(
        "/",
        "/opt",
        "/room",
        "/tmp/.config",
        "/tmp/.config/matplotlib",
        "/run/user",
        "/home",
        "/root",
    ),
)


def plant(given: dict[str, Any]) -> str | None:
    import os

    for place in given["places"]:
        for name in (given["mark"], f".{given['mark']}"):
            try:
                with open(f"{place}/{name}", "w") as file:
                    file.write(given["mark"])
                os.mkdir(f"{place}/{name}.d")
            except OSError:
                continue
    return None


def probe(given: dict[str, Any]) -> str | None:
    import os

    found = []
    for place in given["places"]:
        try:
            names = [name for name in os.listdir(place) if given["mark"] in name]
        except OSError:
            continue
        for name in names:
            path = f"{place}/{name}"
            found.append(path)
            try:
                os.rmdir(path) if os.path.isdir(path) else os.unlink(path)
            except OSError:
                continue
    return f"{len(found)} left by an earlier run, such as {found[0]}" if found else None


ATTACK = Attack(
    probe,
    expects="every place that a run may write is new for the next",
    given={"places": PLACES},
    drive=after(plant),
)
