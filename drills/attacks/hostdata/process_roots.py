"""Goes to the host's files by way of other processes: their root, directory, descriptors, maps."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Baseline
from drills.attacks.steps.processes import visible


def probe(given: dict[str, Any]) -> str | None:
    import os

    for pid in (given["pid"], *visible()):
        links = [f"/proc/{pid}/root", f"/proc/{pid}/cwd"]
        for folder in ("fd", "map_files", f"task/{pid}/fd"):
            try:
                links += [
                    f"/proc/{pid}/{folder}/{name}" for name in os.listdir(f"/proc/{pid}/{folder}")
                ]
            except OSError:
                continue
        for link in links:
            for path in given["files"]:
                for rest in (path, "/.." * 12 + path):
                    try:
                        with open(link + rest, "rb") as file:
                            return f"{len(file.read())} bytes of {link}{rest}"
                    except OSError:
                        continue
    return None


ATTACK = Attack(
    probe,
    expects="no link of a process leads out of the room",
    uses=(visible,),
    control=Baseline(root=True),
)
