"""Makes timers without end: each is kernel memory, and one of its user's pending signals."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    made = 0
    timer = ctypes.c_void_p()
    while made < given["enough"] and libc.timer_create(1, None, ctypes.byref(timer)) == 0:
        made += 1
    return f"{made} timers" if made == given["enough"] else None


ATTACK = Attack(
    probe,
    expects="RLIMIT_SIGPENDING ends it early: other rooms of the same user need some too",
    given={"enough": 20_000},
)
