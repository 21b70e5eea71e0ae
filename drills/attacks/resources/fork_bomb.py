"""Forks until nothing more can be forked."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from sandbox.protocol import Limits

LIMIT = 32


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal
    import time

    made: list[int] = []
    try:
        while len(made) < given["enough"]:
            pid = os.fork()
            if pid == 0:
                time.sleep(5)
                os._exit(0)
            made.append(pid)
    except OSError:
        return None
    finally:
        for pid in made:
            os.kill(pid, signal.SIGKILL)
    return f"{len(made)} processes at one time"


ATTACK = Attack(
    probe,
    expects="the fork beyond `Limits.processes` fails, and everything else goes on",
    limits=Limits(processes=LIMIT),
    given={"enough": 2 * LIMIT},
    control=Bare(),
)
