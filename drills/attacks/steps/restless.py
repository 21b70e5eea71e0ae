"""A process that goes on while the run ends, and changes what is being collected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drills.attacks.steps.secrets import holds


def restless(given: dict[str, Any], action: Callable[[], object], seconds: float = 15) -> int:
    """Fork a process that repeats `action`; it bears the mark as its name. Returns its pid."""
    import ctypes
    import os
    import signal
    import time

    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        ctypes.CDLL(None).prctl(15, given["mark"][:15].encode(), 0, 0, 0)  # PR_SET_NAME
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            action()
    finally:
        os._exit(0)


def exchange(one: str, two: str) -> Callable[[], object]:
    """What swaps two names, neither of which is ever missing meanwhile."""
    import ctypes

    libc, here = ctypes.CDLL(None), -100
    return lambda: libc.renameat2(here, one.encode(), here, two.encode(), 2)


def outrun(given: dict[str, Any], path: str, checked: str, pid: int) -> str | None:
    """In a control: read `path` whenever `checked` is no link, as a collector that looks first.

    Ends the restless process `pid`. Needs `holds`.
    """
    import os
    import signal
    import stat
    import time

    until = time.monotonic() + 6
    try:
        while time.monotonic() < until:
            if stat.S_ISLNK(os.lstat(checked).st_mode):
                continue
            with open(path, "rb") as file:
                if holds(given, file.read()):
                    return f"{path} was a link when it was opened, and none when it was looked at"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return None
