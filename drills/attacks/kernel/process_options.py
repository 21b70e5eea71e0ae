"""Forges what the kernel tells of it, and sets how it is counted and handled: prctl."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    size = ctypes.c_uint()
    # Each as it is already, or no more than asked.
    ways = {
        "PR_SET_MM": (35, 15, ctypes.byref(size), 0, 0),  # how large its own memory map would be
        "PR_SET_TSC": (26, 1, 0, 0, 0),
        "PR_TASK_PERF_EVENTS_ENABLE": (32, 0, 0, 0, 0),
        "PR_MCE_KILL": (33, 0, 0, 0, 0),
        "PR_SET_IO_FLUSHER": (57, 0, 0, 0, 0),
    }
    passed = [name for name, words in ways.items() if libc.prctl(*words) >= 0]
    return ", ".join(passed) or None


ATTACK = Attack(probe, expects="each is refused: programs need none of them")
