"""Looks at the descriptors that it was born with: anything but its own three streams."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import os
    import stat

    try:
        return f"{len(os.pread(given['descriptor'], 4096, 0))} bytes of an inherited canary"
    except OSError:
        pass
    null = os.stat("/dev/null").st_rdev
    for number in range(4096):
        try:
            status = os.fstat(number)
        except OSError:
            continue
        is_stream = stat.S_ISFIFO(status.st_mode) or status.st_rdev == null
        if number > 2 or not is_stream:
            target = os.readlink(f"/proc/self/fd/{number}")
            return f"descriptor {number} of mode {status.st_mode:o}: {target}"
    # A stream is a pipe of its own: not one whose other end it can open again.
    for number in (0, 1, 2):
        try:
            again = os.open(f"/proc/self/fd/{number}", os.O_RDWR | os.O_NONBLOCK)
        except OSError:
            continue
        status = os.fstat(again)
        if not stat.S_ISFIFO(status.st_mode) and status.st_rdev != null:
            return f"stream {number} opened again: mode {status.st_mode:o}"
    return None


ATTACK = Attack(probe, expects="three pipes, or /dev/null, and nothing else")
