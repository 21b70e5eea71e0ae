"""Switches off that addresses are random, for itself and what it starts: personality."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.raw import apart, call


def probe(given: dict[str, Any]) -> str | None:
    import os

    number = 92 if os.uname().machine == "aarch64" else 135
    fixed_addresses, readable_is_executable = 0x40000, 0x400000

    def become(persona: int) -> int:
        call(number, persona)
        return call(number, 0xFFFFFFFF)  # asks

    for persona in (fixed_addresses, readable_is_executable):
        if apart(lambda: become(persona)) == persona:  # noqa: B023  (called at once)
            return f"personality {persona:#x}"
    return None


ATTACK = Attack(probe, expects="it is refused", uses=(call, apart))
