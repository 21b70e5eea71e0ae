"""Fills every place that can be written, in files of allowed size."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os

    written = 0
    made = []
    block = bytes(1 << 20)
    for place in (".", "/tmp", "/dev/shm", "/var/tmp", "/run", "/", "/home", "/dev", "/dev/mqueue"):
        for number in range(64):
            path = f"{place}/{given['mark']}-{number}"
            try:
                with open(path, "wb") as file:
                    made.append(path)
                    for _ in range(8):
                        written += file.write(block)
            except OSError:
                break
            if written >= given["enough"]:
                break
    for path in made:
        os.unlink(path)
    return f"{written >> 20} MiB on disks" if written >= given["enough"] else None


ATTACK = Attack(
    probe,
    expects="the work area and the few other places are full long before, each with its own size",
    limits=Limits(workspace_bytes=16 * MIB),
    given={"enough": 300 * MIB},
    ends=frozenset({End.DISK, End.MEMORY}),
)
