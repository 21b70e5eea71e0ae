"""Opens the machine's performance counters: perf_event_open."""

from __future__ import annotations

from drills.attacks.attack import Bare
from drills.attacks.steps.knocks import Knock, knocking

ATTACK = knocking(
    Knock("perf_event_open", 298, 241, (0, 0, -1, -1, -1)),  # no description, unknown flags
    expects="it is refused before the kernel looks at it",
    control=Bare(),
)
