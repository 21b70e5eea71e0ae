"""Leaves a POSIX message queue with a message in it."""

from __future__ import annotations

import os
from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import after


def plant(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    queue = libc.mq_open(f"/{given['mark']}".encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
    if queue >= 0:
        libc.mq_send(queue, b"left", 4, 0)
    return None


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    queue = libc.mq_open(f"/{given['mark']}".encode(), os.O_RDWR)
    libc.mq_unlink(f"/{given['mark']}".encode())
    return "the queue of an earlier run" if queue >= 0 else None


def absent() -> str | None:
    return None if os.path.isdir("/proc/sys/fs/mqueue") else "this kernel has no POSIX queues"


ATTACK = Attack(
    probe,
    expects="each run has an ipc namespace of its own, or no such queue",
    drive=after(plant),
    absent=absent,
)
