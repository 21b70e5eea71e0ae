"""Sets the machine's clock: settimeofday, clock_settime, adjtimex, clock_adjtime."""

from __future__ import annotations

from drills.attacks.attack import Bare
from drills.attacks.steps.knocks import Knock, knocking

ATTACK = knocking(
    Knock("settimeofday", 164, 170, ([-1, -1], 0)),  # a time that there is not
    Knock("clock_settime", 227, 112, (1, 0)),  # CLOCK_MONOTONIC, which nobody can set
    Knock("adjtimex", 159, 171, (0,)),  # no buffer
    Knock("clock_adjtime", 305, 266, (99, 0)),  # no such clock
    expects="each is refused before the kernel looks at it",
    control=Bare(),
)
