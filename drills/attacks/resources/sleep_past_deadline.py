"""Sleeps past the deadline, blind to every signal that can be ignored or blocked."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import signal
    import time

    for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(given["seconds"])
    return f"slept {given['seconds']} s"


ATTACK = Attack(
    probe,
    expects="the deadline kills what does not listen",
    limits=Limits(wall_seconds=1.0),
    given={"seconds": 3},
    ends=frozenset({End.TIMEOUT}),
    control=Raised(Limits(wall_seconds=20.0)),
)
