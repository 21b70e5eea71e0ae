"""Fills more memory than the limit in mappings that eight processes share: each has its part."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import mmap
    import os
    import time

    try:
        parts = [mmap.mmap(-1, given["each"] << 20) for _ in range(8)]
    except OSError:
        return None
    for part in parts:
        pid = os.fork()
        if pid == 0:
            for at in range(0, len(part), 4096):
                part[at] = 1
            os._exit(0)  # its pages stay: they belong to the mapping, which all of us hold
        os.waitpid(pid, 0)
    time.sleep(0.4)
    touched = sum(len(part) for part in parts if part[0] == 1)
    return f"{touched >> 20} MiB of shared memory" if touched == 8 * len(parts[0]) else None


ATTACK = Attack(
    probe,
    expects="pages that no process has mapped in its tables are counted too, or cannot be had",
    limits=Limits(memory_bytes=128 * MIB, workspace_bytes=8 * MIB),
    given={"each": 40},
    ends=frozenset({End.MEMORY}),
    control=Raised(Limits(memory_bytes=1024 * MIB)),
)
