"""Burns processor time in children that nobody waits for, whose time is then added to nobody's."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal
    import time

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them, and forgets
    for _ in range(given["lives"]):
        read, write = os.pipe()
        if os.fork() == 0:
            while time.process_time() < given["each"]:
                pass
            os._exit(0)
        os.close(write)
        os.read(read, 1)  # until it has ended
        os.close(read)
    return f"{given['lives']} x {given['each']} s of processor time"


ATTACK = Attack(
    probe,
    expects="the time of those is counted whom nobody waited for",
    limits=Limits(wall_seconds=60.0, cpu_seconds=1),
    given={"lives": 10, "each": 0.25},
    ends=frozenset({End.CPU}),
    control=Raised(Limits(wall_seconds=60.0, cpu_seconds=20)),
)
