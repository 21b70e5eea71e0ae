"""Fills more memory than the limit, in one process."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import time

    kept = []
    try:
        for _ in range(given["mib"]):
            kept.append(bytearray(b"x") * (1 << 20))
            time.sleep(0.002)  # a burst between two samples is bounded too, but not by this limit
    except MemoryError:
        return None
    time.sleep(0.3)
    return f"{len(kept)} MiB held for 0.3 s"


ATTACK = Attack(
    probe,
    expects="the run is ended for its memory, or the allocation fails",
    limits=Limits(memory_bytes=128 * MIB, workspace_bytes=8 * MIB),
    given={"mib": 300},
    ends=frozenset({End.MEMORY}),
    control=Raised(Limits(memory_bytes=512 * MIB)),
)
