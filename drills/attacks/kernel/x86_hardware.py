"""Reaches for ports and segments of an x86 processor: iopl, ioperm, modify_ldt."""

from __future__ import annotations

from drills.attacks.attack import Bare
from drills.attacks.steps.knocks import Knock, knocking

ATTACK = knocking(
    Knock("iopl", 172, None, (99,)),  # there are four levels
    Knock("ioperm", 173, None, (-1, 1, 0)),  # beyond the last port
    Knock("modify_ldt", 154, None, (0, 0, 0)),  # reads no bytes
    expects="each is refused before the kernel looks at it",
    control=Bare(),
)
