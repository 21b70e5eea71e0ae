"""Takes precedence over its neighbours: real-time scheduling, nice, I/O classes, OOM score."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.raw import apart, call
from drills.attacks.steps.rights import roots


def probe(given: dict[str, Any]) -> str | None:
    import os

    io_priority = 30 if os.uname().machine == "aarch64" else 251

    def realtime() -> int:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        return 1

    def nice() -> int:
        return int(os.nice(-5) < 0)

    def spared() -> int:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("-500")
        return 1

    def io_first() -> int:
        first_of_realtime = 1 << 13
        return int(call(io_priority, 1, 0, first_of_realtime) == 0)

    ways = (realtime, nice, spared, io_first)
    passed = [way.__name__ for way in ways if (apart(way) or 0) > 0]
    return ", ".join(passed) or None


ATTACK = roots(
    Attack(probe, expects="all are refused", control=Bare(root=True), uses=(call, apart))
)
