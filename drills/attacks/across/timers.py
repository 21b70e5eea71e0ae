"""Takes all timers that its user may have: a neighbour is to have its own."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import beside, ready


def timers(most: int) -> int:
    """Make so many, or as many as there are to be had: each is one of a user's pending signals."""
    import ctypes
    import resource

    hard = resource.getrlimit(resource.RLIMIT_SIGPENDING)[1]
    resource.setrlimit(resource.RLIMIT_SIGPENDING, (1_024, hard))  # as it is in a room already
    libc = ctypes.CDLL(None, use_errno=True)
    timer, made = ctypes.c_void_p(), 0
    while made < most and libc.timer_create(1, None, ctypes.byref(timer)) == 0:
        made += 1
    return made


def holder(given: dict[str, Any]) -> str | None:
    import time

    if timers(20_000) == 20_000:
        raise OSError("there was no end to the timers")
    ready(given)
    time.sleep(given["seconds"])
    return None


def probe(given: dict[str, Any]) -> str | None:
    made = timers(given["wanted"])
    return None if made == given["wanted"] else f"a neighbour has left {made} timers"


ATTACK = Attack(
    probe,
    expects="each room has its own, as a user of its own or in a user namespace of its own",
    given={"wanted": 500},
    uses=(ready, timers),
    drive=beside(holder),
)
