"""Reads files of the host: in homes, in temporary folders, in the drill's own."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    for path in given["files"]:
        for way in (path, f"/proc/1/root{path}", f"/proc/self/root{path}", f"/proc/1/cwd{path}"):
            try:
                with open(way) as file:
                    return f"{len(file.read())} bytes of the canary {way}"
            except OSError:
                continue
    return None


ATTACK = Attack(probe, expects="none of them is there, by any name")
