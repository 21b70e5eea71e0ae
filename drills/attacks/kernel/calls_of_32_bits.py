"""Calls the kernel by its 32-bit interface, whose numbers mean other calls: int 0x80."""

from __future__ import annotations

from drills.attacks.attack import Attack
from drills.attacks.steps.here import reaches
from drills.attacks.steps.machine import asks_its_pid, execute
from drills.attacks.steps.raw import apart

GET_PID = "b814000000cd80c3"  # mov eax, 20; int 0x80; ret


def absent() -> str | None:
    there = reaches(asks_its_pid, (apart, execute), {"code": GET_PID})
    return None if there else "this kernel has no 32-bit calls"


ATTACK = Attack(
    asks_its_pid,
    expects="the caller is killed, or is told that there is no such call",
    given={"code": GET_PID},
    uses=(apart, execute),
    absent=absent,
)
