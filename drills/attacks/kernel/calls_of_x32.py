"""Calls the kernel by the numbers of x32, which a filter of numbers may not know."""

from __future__ import annotations

from drills.attacks.attack import Attack
from drills.attacks.steps.here import reaches
from drills.attacks.steps.machine import asks_its_pid, execute
from drills.attacks.steps.raw import apart

GET_PID = "b8270000400f05c3"  # mov eax, 0x40000000 + 39; syscall; ret


def absent() -> str | None:
    there = reaches(asks_its_pid, (apart, execute), {"code": GET_PID})
    return None if there else "this kernel has no x32 calls"


ATTACK = Attack(
    asks_its_pid,
    expects="the caller is killed, or is told that there is no such call",
    given={"code": GET_PID},
    uses=(apart, execute),
    absent=absent,
)
