"""Takes the room's agent's resources away: no descriptors, no memory, no time."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Baseline
from drills.attacks.drives import survived
from drills.attacks.judges import ended
from sandbox.protocol import End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os
    import resource
    import subprocess
    import sys
    import time

    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(6)", given["mark"]],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for name in ("NOFILE", "FSIZE", "AS", "DATA", "STACK", "NPROC", "CPU"):
        try:
            resource.prlimit(os.getppid(), getattr(resource, f"RLIMIT_{name}"), (0, 0))
        except (OSError, ValueError):
            continue
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        os.write(1, b"x" * 10_000)
    with open("made", "w") as file:
        file.write("x")
    os._exit(3)


ATTACK = Attack(
    probe,
    expects="the room is dead or answers; nothing of it is left; the next run is as usual",
    limits=Limits(wall_seconds=5.0),
    drive=survived,
    judge=ended({End.KILLED, End.EXITED, End.SIGNALED, End.TIMEOUT, End.OUTPUT}),
    control=Baseline(as_drill=True),
)
