"""Fills more memory than the limit in mappings that eight processes share: each has its part."""

from __future__ import annotations

from drills.attacks.attack import Attack, Raised
from drills.attacks.steps.memory import fill_shared
from sandbox.protocol import MIB, End, Limits

ATTACK = Attack(
    fill_shared,
    expects="pages that no process has mapped in its tables are counted too, or cannot be had",
    limits=Limits(memory_bytes=128 * MIB, workspace_bytes=8 * MIB),
    given={"each": 40},
    ends=frozenset({End.MEMORY}),
    control=Raised(Limits(memory_bytes=1024 * MIB)),
)
