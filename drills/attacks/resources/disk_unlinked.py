"""Fills the disk with files that have no name any more."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os

    written = 0
    kept = []
    block = bytes(1 << 20)
    for place in (".", "/tmp", "/dev/shm", "/var/tmp"):
        try:
            while written < given["enough"]:
                path = f"{place}/{given['mark']}"
                file = open(path, "wb", buffering=0)
                os.unlink(path)
                kept.append(file)
                for _ in range(8):
                    wrote = file.write(block)
                    written += wrote
                    if wrote < len(block):
                        raise OSError
        except OSError:
            continue
    return f"{written >> 20} MiB in nameless files" if written >= given["enough"] else None


ATTACK = Attack(
    probe,
    expects="what has no name takes as much of the sized file systems as what has one",
    limits=Limits(workspace_bytes=16 * MIB),
    given={"enough": 300 * MIB},
    ends=frozenset({End.DISK, End.MEMORY}),
)
