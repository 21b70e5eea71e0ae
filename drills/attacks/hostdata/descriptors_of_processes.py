"""Opens the descriptors of every other process it can see: sockets and files of the agent."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.processes import visible


def probe(given: dict[str, Any]) -> str | None:
    import os

    for pid in (given["pid"], *visible()):
        if pid == os.getpid():
            continue
        for folder in (f"/proc/{pid}/fd", f"/proc/{pid}/task/{pid}/fd", f"/proc/{pid}/fdinfo"):
            try:
                names = os.listdir(folder)
            except OSError:
                continue
            if names:
                return f"{len(names)} descriptors listed in {folder}"
        for number in (0, 1, 2, 3, 4, 5, given["descriptor"]):
            try:
                link = f"/proc/{pid}/fd/{number}"
                os.stat(link)
                return f"{link} leads to {os.readlink(link)}"
            except OSError:
                continue
    return None


ATTACK = Attack(
    probe,
    expects="the descriptors of others can neither be listed nor opened",
    uses=(visible,),
    control=Bare(root=True),
)
