"""Burns processor time in grandchildren that live too short a time to be seen by a sample."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os
    import time

    read, write = os.pipe()
    for _ in range(given["lives"]):
        if os.fork() == 0:
            if os.fork() == 0:  # an orphan: not its parent but init inherits its time
                while time.process_time() < given["each"]:
                    pass
                os.write(write, b"1")
            os._exit(0)
        os.wait()
        os.read(read, 1)
    return f"{given['lives']} x {given['each']} s of processor time"


ATTACK = Attack(
    probe,
    expects="the time of the dead is counted too",
    limits=Limits(wall_seconds=60.0, cpu_seconds=1),
    given={"lives": 150, "each": 0.02},
    ends=frozenset({End.CPU}),
    control=Raised(Limits(wall_seconds=60.0, cpu_seconds=20)),
)
