"""Knocks: system calls with arguments that can do nothing, whoever calls.

A filter answers such a call before the kernel looks at its arguments; a kernel that looks finds
them wrong, and says so by another error than "not permitted" or "no such call". So a knock tells an
open door from a shut one without walking through it: what these calls do could harm the machine.
Only a kernel that asks for a right before it looks needs the control to be root.
"""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.seen import Seen
from drills.attacks.steps.here import reaches
from drills.attacks.steps.raw import apart, call

if TYPE_CHECKING:
    from drills.attacks.scene import Scene

Word = int | str | list[int]


@dataclass(frozen=True, slots=True)
class Knock:
    """A call: its name, its number on x86-64 and on 64-bit ARM (None: never had it), its words."""

    name: str
    x86: int | None
    arm: int | None
    words: tuple[Word, ...] = ()


def knock(given: dict[str, Any]) -> str | None:
    """The probe. `every`: all calls that this kernel has must get through, else it is broken."""
    import errno
    import os

    passed, shut = [], []
    for name, x86, arm, words in given["knocks"]:
        number = {"x86_64": x86, "aarch64": arm}[os.uname().machine]
        if number is None:
            continue
        answer = apart(lambda: call(number, *words))  # noqa: B023  (called at once)
        if answer == -errno.ENOSYS:
            continue
        if answer is None or answer == -errno.EPERM:
            shut.append(name)
        else:
            passed.append(f"{name} ({errno.errorcode.get(-answer, 'done')})")
    if given.get("every") and shut:
        raise PermissionError(f"refused here: {', '.join(shut)}; open: {', '.join(passed)}")
    if given.get("any"):
        return ", ".join(shut + passed) or None
    return f"the kernel looked at: {', '.join(passed)}" if passed else None


def knocking(*knocks: Knock, expects: str, control: Bare) -> Attack:
    """An attack that is nothing but knocks.

    Where the drill is root its control must get through with every one of them, otherwise with any.
    """
    listed = [dataclasses.astuple(each) for each in knocks]
    return Attack(
        knock,
        expects=expects,
        control=control,
        given={"knocks": listed},
        uses=(call, apart),
        drive=_each,
        absent=lambda: _absent(listed),
    )


async def _each(scene: Scene) -> Seen:
    return await scene.run(given={"every": scene.is_control and os.geteuid() == 0})


def _absent(knocks: list[Any]) -> str | None:
    """Whether this kernel lacks them all."""
    if reaches(knock, (call, apart), {"knocks": knocks, "any": True}):
        return None
    return f"this kernel has no {', '.join(each[0] for each in knocks)}"
