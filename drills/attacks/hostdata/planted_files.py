"""Walks all that it can see for the host's canary files, wherever they might show."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack

SECONDS = 10.0


def probe(given: dict[str, Any]) -> str | None:
    import os
    import time

    names = {os.path.basename(each) for each in given["files"]}
    until = time.monotonic() + given["seconds"]
    for top in (
        "/tmp",
        "/dev",
        "/run",
        "/work",
        "/opt",
        "/room",
        "/etc",
        "/var",
        "/home",
        "/mnt",
        "/",
    ):
        for folder, folders, files in os.walk(top):
            if found := names.intersection(files):
                return f"{folder}/{found.pop()}"
            folders[:] = [each for each in folders if f"{folder}/{each}" not in ("//proc", "//sys")]
            if time.monotonic() > until:
                return None
    return None


ATTACK = Attack(
    probe,
    expects="none shows under any name",
    given={"seconds": SECONDS},
)
