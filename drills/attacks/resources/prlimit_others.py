"""Sets the limits of a process that is not of its own run: the drill's."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare


def probe(given: dict[str, Any]) -> str | None:
    import resource

    pid = given["pid"]
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if b"drills.attacks" not in file.read():
                return None  # a pid of the room's own
        own = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, own)
    except (OSError, ValueError):
        return None
    return f"the limits of pid {pid} could be set"


ATTACK = Attack(
    probe,
    expects="no process of the host has a number in the room",
    control=Bare(as_drill=True),
)
