"""Raises its own resource limits, by setrlimit and by prlimit."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from sandbox.protocol import MIB, Limits

# Not RLIMIT_NPROC: a control group may count in its place, and `fork_bomb` tries it.
LIMITS = Limits(processes=32, open_files=64, file_bytes=MIB, cpu_seconds=5)


def probe(given: dict[str, Any]) -> str | None:
    import os
    import resource

    for name, most in given["most"].items():
        which = getattr(resource, f"RLIMIT_{name}")
        for wanted in (1 << 31, resource.RLIM_INFINITY):
            for change in (resource.setrlimit, lambda *a: resource.prlimit(os.getpid(), *a)):
                try:
                    change(which, (wanted, wanted))
                except (OSError, ValueError):
                    continue
        _, hard = resource.getrlimit(which)
        if hard == resource.RLIM_INFINITY or hard > most:
            return f"RLIMIT_{name} is {hard}, more than {most}"
    return None


ATTACK = Attack(
    probe,
    expects="hard limits are set inside, near the run's own, and cannot be raised",
    limits=LIMITS,
    given={
        "most": {
            "NOFILE": LIMITS.open_files,
            "FSIZE": LIMITS.file_bytes,
            "CPU": LIMITS.cpu_seconds + 1,
            "CORE": 1,  # one byte: what the kernel takes for "not even to a pipe"
            "MSGQUEUE": 0,
        }
    },
)
