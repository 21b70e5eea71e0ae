"""Leaves megabytes of standard input unread, writes to it, closes it, and ends."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Instead
from drills.attacks.drives import survived
from drills.attacks.judges import answered
from sandbox.protocol import End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os
    import time

    os.read(0, 10)
    for path in ("/dev/stdin", "/proc/self/fd/0"):
        for flags in (os.O_WRONLY | os.O_NONBLOCK, os.O_RDWR | os.O_NONBLOCK):
            try:
                fd = os.open(path, flags)
                os.write(fd, b"x" * 100_000)
            except OSError:
                continue
    os.close(0)
    time.sleep(0.2)
    os._exit(6)


def hangs(given: dict[str, Any]) -> str | None:
    import time

    time.sleep(60)
    return None


ATTACK = Attack(
    probe,
    expects="nobody waits for it to read: exit code 6",
    limits=Limits(wall_seconds=4.0),
    stdin=b"line\n" * 2_000_000,
    drive=survived,
    judge=answered(End.EXITED, 6),
    control=Instead(hangs),
)
