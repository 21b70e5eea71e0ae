"""Calls the kernel by the numbers of x32, which a filter of numbers may not know."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.here import reaches
from drills.attacks.steps.machine import execute
from drills.attacks.steps.raw import apart

GET_PID = "b8270000400f05c3"  # mov eax, 0x40000000 + 39; syscall; ret


def probe(given: dict[str, Any]) -> str | None:
    import os

    if os.uname().machine != "x86_64":
        return None
    answer = apart(lambda: execute(given["code"]))
    return f"process {answer}, said the kernel" if answer is not None and answer > 0 else None


def absent() -> str | None:
    there = reaches(probe, (apart, execute), {"code": GET_PID})
    return None if there else "this kernel has no x32 calls"


ATTACK = Attack(
    probe,
    expects="the caller is killed, or is told that there is no such call",
    given={"code": GET_PID},
    uses=(apart, execute),
    absent=absent,
)
