"""Opens the descriptors of every other process it can see: sockets and files of the agent."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Baseline
from drills.attacks.steps.processes import visible


def probe(given: dict[str, Any]) -> str | None:
    import os

    others = [pid for pid in (given["pid"], *visible()) if pid != os.getpid()]
    for pid in others:
        for number in (*range(64), given["descriptor"]):
            link = f"/proc/{pid}/fd/{number}"
            for look in (os.readlink, os.stat):
                try:
                    look(link)
                    return f"{link} leads to {os.readlink(link)}"
                except OSError:
                    continue
    for pid in others:
        for folder in (f"/proc/{pid}/fd", f"/proc/{pid}/task/{pid}/fd", f"/proc/{pid}/fdinfo"):
            try:
                names = os.listdir(folder)
            except OSError:
                continue
            if names:
                return f"{len(names)} descriptors listed in {folder}"
    return None


ATTACK = Attack(
    probe,
    expects="the descriptors of others can neither be listed nor opened",
    uses=(visible,),
    control=Baseline(root=True),
)
