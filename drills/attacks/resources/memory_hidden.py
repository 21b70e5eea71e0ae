"""Fills more memory than the limit in mappings that are shared, and lets nobody look at them."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from drills.attacks.steps.memory import fill_shared
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import ctypes

    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE; it is inherited
    return fill_shared(given)


ATTACK = Attack(
    probe,
    expects="who hides his mappings is counted with all of them, or they cannot be had",
    limits=Limits(memory_bytes=128 * MIB, workspace_bytes=8 * MIB),
    given={"each": 40},
    ends=frozenset({End.MEMORY}),
    uses=(fill_shared,),
    control=Raised(Limits(memory_bytes=1024 * MIB)),
)
