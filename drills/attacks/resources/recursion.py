"""Recurses without end, so that the interpreter's own stack fills the memory."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import sys

    sys.setrecursionlimit(1 << 30)

    def deeper(depth: int, kept: bytearray) -> int:
        return depth if depth >= given["deep"] else deeper(depth + 1, bytearray(512))

    try:
        deep = deeper(0, bytearray())
    except (MemoryError, RecursionError):
        return None
    return f"{deep} calls deep"


ATTACK = Attack(
    probe,
    expects="the run is ended for its memory, or by its own fault",
    limits=Limits(memory_bytes=128 * MIB, workspace_bytes=8 * MIB),
    given={"deep": 400_000},
    ends=frozenset({End.MEMORY, End.SIGNALED}),
    control=Raised(Limits(memory_bytes=1024 * MIB)),
)
