"""Removes the work area from under the collector, or what can be removed of it."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.homecoming import and_on, came_home


def probe(given: dict[str, Any]) -> str | None:
    import os
    import shutil

    top = os.getcwd()
    if given["careless"]:
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir(f"{top}/gone")
        try:
            return f"it collects {os.listdir(os.getcwd())}"
        except OSError as error:
            return f"a collector that asks for its place again fails: {error}"
    for attempt in (shutil.rmtree, os.rmdir, lambda place: os.rename(place, "/tmp/elsewhere")):
        try:
            attempt(top)
        except OSError:
            continue
    try:
        os.symlink(os.path.dirname(given["files"][0]), top)
        return f"{top} is a link now"
    except OSError:
        return None


ATTACK = Attack(
    probe,
    expects="the place itself stays; what was laid there is told as deleted",
    files={"laid.txt": b"laid\n"},
    drive=and_on,
    judge=came_home,
)
