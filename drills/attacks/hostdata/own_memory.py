"""Searches its own memory for what the process that it was forked from had known."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.secrets import holds, in_own_memory


def probe(given: dict[str, Any]) -> str | None:
    return in_own_memory(given)


ATTACK = Attack(
    probe,
    expects="nothing that the worker or its supervisor knew is in a room's memory",
    uses=(holds, in_own_memory),
)
