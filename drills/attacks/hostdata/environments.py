"""Reads the environments of all processes it can see, of the room's own agent too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack, Baseline
from drills.attacks.steps.processes import visible
from drills.attacks.steps.secrets import holds

if TYPE_CHECKING:
    from drills.attacks.context import Context
    from drills.attacks.outcome import Observation


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal
    import time

    planted = os.fork() if given["plant"] else -1
    if planted == 0:
        time.sleep(5)
        os._exit(0)
    try:
        for pid in (given["pid"], *visible()):
            for name in (f"/proc/{pid}/environ", f"/proc/{pid}/task/{pid}/environ"):
                try:
                    with open(name, "rb") as file:
                        data = file.read()
                except OSError:
                    continue
                if pid != os.getpid() and holds(given, data):
                    return f"the canary in {name}"
    finally:
        if planted > 0:
            os.kill(planted, signal.SIGKILL)
    return None


async def drive(context: Context) -> Observation:
    return await context.run(given={"plant": context.is_control})


ATTACK = Attack(
    probe,
    expects="no process that has the worker's environment is to be seen",
    uses=(holds, visible),
    drive=drive,
    control=Baseline(root=True),
)
