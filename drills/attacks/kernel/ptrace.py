"""Traces the process that started it, and a child of its own: ptrace."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.raw import call

SEIZE = 0x4206


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal
    import time

    number = {"x86_64": 101, "aarch64": 117}[os.uname().machine]
    child = os.fork()
    if child == 0:
        time.sleep(5)
        os._exit(0)
    try:
        for name, pid in (("parent", os.getppid()), ("process 1", 1), ("child", child)):
            if call(number, given["seize"], pid, 0, 0) == 0:
                return f"traced its {name}"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return None


ATTACK = Attack(
    probe,
    expects="none can be traced, not even a child",
    given={"seize": SEIZE},
    uses=(call,),
)
