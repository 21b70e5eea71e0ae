"""Makes message queues, of POSIX and of System V: kernel memory that outlives a process."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    queue = libc.msgget(0, 0o1600)
    if queue >= 0:
        libc.msgctl(queue, 0, None)
        return "a queue of System V"
    name = f"/{given['mark']}".encode()
    try:
        librt = ctypes.CDLL("librt.so.1", use_errno=True)
    except OSError:
        librt = libc
    queue = librt.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None)
    if queue >= 0:
        librt.mq_unlink(name)
        return "a queue of POSIX"
    return None


ATTACK = Attack(probe, expects="none can be made")
