"""Takes over descriptors of the room's agent, by `/proc` and by pidfd."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Baseline


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    pid = os.getppid()
    try:
        return f"the agent's descriptors: {os.listdir(f'/proc/{pid}/fd')}"
    except OSError:
        pass
    pidfd = libc.syscall(434, pid, 0)
    for number in range(64):
        if pidfd >= 0 and libc.syscall(438, pidfd, number, 0) >= 0:
            return f"the agent's descriptor {number}"
        try:
            os.close(os.open(f"/proc/{pid}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK))
        except OSError:
            continue
        return f"the agent's descriptor {number}, by its name"
    return None


ATTACK = Attack(
    probe,
    expects="none can be listed, opened or fetched",
    control=Baseline(host_root=True),
)
