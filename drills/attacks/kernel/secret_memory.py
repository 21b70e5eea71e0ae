"""Holds memory that the machine itself cannot look into: memfd_secret."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.here import reaches
from drills.attacks.steps.raw import apart, call


def probe(given: dict[str, Any]) -> str | None:
    return "such memory" if (apart(lambda: call(447, 0)) or -1) > 0 else None


def absent() -> str | None:
    return None if reaches(probe, (call, apart)) else "this kernel has no memfd_secret"


ATTACK = Attack(probe, expects="it is refused", uses=(call, apart), absent=absent)
