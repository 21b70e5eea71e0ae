"""Leaves memory, semaphores and queues of System V, which outlive every process."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import after


def plant(given: dict[str, Any]) -> str | None:
    import ctypes

    libc, key = ctypes.CDLL(None, use_errno=True), int(given["mark"][-7:], 16)
    libc.shmget(key, 4096, 0o1666)
    libc.semget(key, 1, 0o1666)
    libc.msgget(key, 0o1666)
    return None


def probe(given: dict[str, Any]) -> str | None:
    import ctypes

    libc, key = ctypes.CDLL(None, use_errno=True), int(given["mark"][-7:], 16)
    met = []
    if (memory := libc.shmget(key, 0, 0)) >= 0:
        met.append("memory")
        libc.shmctl(memory, 0, None)
    if (semaphores := libc.semget(key, 0, 0)) >= 0:
        met.append("semaphores")
        libc.semctl(semaphores, 0, 0)
    if (queue := libc.msgget(key, 0)) >= 0:
        met.append("a queue")
        libc.msgctl(queue, 0, None)
    return f"of an earlier run: {', '.join(met)}" if met else None


ATTACK = Attack(
    probe,
    expects="each run has an ipc namespace of its own, or none of these calls",
    drive=after(plant),
)
