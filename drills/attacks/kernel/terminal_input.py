"""Types into its terminal as if its user did: TIOCSTI."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.raw import apart


def probe(given: dict[str, Any]) -> str | None:
    import errno
    import fcntl
    import os
    import pty
    import termios

    def types() -> int:
        """Into a terminal of its own making: the room has no other, and must not need to."""
        _, terminal = pty.openpty()
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        fcntl.ioctl(terminal, termios.TIOCSTI, b"x")
        return 1

    answer = apart(types)
    # Where the machine has switched it off, the terminal itself says so: the call came through.
    return f"it came through ({answer})" if answer in {1, -errno.EIO} else None


ATTACK = Attack(probe, expects="it is refused", control=Bare(root=True), uses=(apart,))
