"""Burns processor time beyond its limit, in one process."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import signal
    import time

    for number in (signal.SIGXCPU, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    while time.process_time() < given["seconds"]:
        pass
    return f"{given['seconds']} s of processor time"


ATTACK = Attack(
    probe,
    expects="the run is ended for its processor time, also where it ignores the signal for it",
    limits=Limits(wall_seconds=60.0, cpu_seconds=1),
    given={"seconds": 3},
    ends=frozenset({End.CPU}),
    control=Raised(Limits(wall_seconds=60.0, cpu_seconds=20)),
)
