"""Burns processor time in four processes that each stay below the limit."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os
    import time

    pids = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            while time.process_time() < given["each"]:
                pass
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    return f"4 x {given['each']} s of processor time"


ATTACK = Attack(
    probe,
    expects="processor time is counted over all processes of the run",
    limits=Limits(wall_seconds=60.0, cpu_seconds=2),
    given={"each": 1.3},
    ends=frozenset({End.CPU}),
    control=Raised(Limits(wall_seconds=60.0, cpu_seconds=20)),
)
