"""Takes a higher priority: nice, real-time scheduling, input and output, the last to be killed."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)

    def score() -> None:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("-1")  # 0 is what everybody has

    def input_output() -> None:
        if libc.syscall({"x86_64": 251}.get(os.uname().machine, 30), 1, 0, 1 << 13) != 0:
            raise OSError(ctypes.get_errno(), "ioprio_set")

    ways = {
        "nice": lambda: os.setpriority(os.PRIO_PROCESS, 0, -1),
        "real-time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
        "input and output": input_output,
        "oom_score_adj": score,
    }
    for name, way in ways.items():
        try:
            way()
        except OSError:
            continue
        return f"a higher priority: {name}"
    return None


ATTACK = Attack(
    probe,
    expects="no priority can be raised",
    control=Bare(host_root=True),
)
