"""Reads the environments of all processes it can see, of the room's own agent too."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.processes import visible
from drills.attacks.steps.secrets import holds


def probe(given: dict[str, Any]) -> str | None:
    import os

    for pid in (given["pid"], *visible()):
        for name in (f"/proc/{pid}/environ", f"/proc/{pid}/task/{pid}/environ"):
            try:
                with open(name, "rb") as file:
                    data = file.read()
            except OSError:
                continue
            if pid != os.getpid() and holds(given, data):
                return f"the canary in {name}"
    return None


ATTACK = Attack(
    probe,
    expects="no process that has the worker's environment is to be seen",
    uses=(holds, visible),
    control=Bare(root=True),
)
