"""Locks files of the library that all runs share: one run stops another, or tells it something."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import beside, ready


def shared() -> list[str]:
    """Files that every run sees: of the library, of the system, and the few of `/etc`.

    Not `/` and the devices (`/dev/null`), which no unprivileged process can have copies of: a lock
    on one of those is a bit that two rooms on `local` can exchange while both run.
    `docs/sandbox.md` names it under what the backend does not stop.
    """
    import os
    import sys

    folder = os.path.dirname(os.__file__)
    found = [os.__file__, f"{folder}/this.py", os.path.realpath(sys.executable), "/usr/bin/env"]
    found += ["/usr", "/usr/lib", "/etc/alternatives", sys.prefix, sys.base_prefix]
    found += ["/proc/version", "/proc/sys/kernel/ostype", "/run/main.py"]
    found += ["/etc", "/etc/passwd", "/etc/hosts", "/etc/ld.so.cache", "/etc/fonts/fonts.conf"]
    found += ["/room", "/room/given", "/room/sandbox/paths.py"]
    return [each for each in found if os.path.exists(each)]


def holder(given: dict[str, Any]) -> str | None:
    import fcntl
    import os
    import time

    for path in shared():
        try:
            file = os.open(path, os.O_RDONLY)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            continue
    ready(given)
    time.sleep(given["seconds"])
    return None


def probe(given: dict[str, Any]) -> str | None:
    import fcntl
    import os

    for path in shared():
        try:
            file = os.open(path, os.O_RDONLY)
        except OSError:
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return f"a neighbour holds a lock on {path}"
        except OSError:
            continue
        finally:
            os.close(file)
    return None


ATTACK = Attack(
    probe,
    expects="a lock of one run does not show in another",
    uses=(ready, shared),
    drive=beside(holder),
)
