"""Enters namespaces of other processes, and its own anew: setns by /proc/PID/ns and by pidfd."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.raw import apart, call


def probe(given: dict[str, Any]) -> str | None:
    import os

    number = 268 if os.uname().machine == "aarch64" else 308
    everything = 0x20000 | 0x4000000 | 0x8000000 | 0x40000000
    for pid in dict.fromkeys((1, os.getppid(), os.getpid())):
        try:
            handle = os.pidfd_open(pid)
            if apart(lambda: call(number, handle, everything)) == 0:  # noqa: B023
                return f"all of process {pid}"
        except OSError:
            pass
        for kind in ("mnt", "net", "pid", "ipc", "uts", "cgroup", "user"):
            try:
                space = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
            except OSError:
                continue
            if apart(lambda: call(number, space, 0)) == 0:  # noqa: B023
                return f"the {kind} namespace of process {pid}"
    return None


ATTACK = Attack(
    probe,
    expects="none can be entered",
    control=Bare(root=True, within=("--uts",)),
    uses=(call, apart),
)
