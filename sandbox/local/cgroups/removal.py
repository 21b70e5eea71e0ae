"""Removing control groups: of a sandbox that has ended, and what a dead supervisor left.

With a supervisor its sandboxes end, but not its groups: one that has stepped down from root may not
remove the group that root made for it, and one that was killed removes nothing. They stay, empty,
until the next supervisor on the machine starts.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

OWN = "supervisor"
"""The group of the supervisor itself (version 2): it ends by itself and is not killed."""
_PREFIX = "fettle-"


def name() -> str:
    """What the group of this process is called: its pid, start time and pid namespace."""
    return f"{_PREFIX}{os.getpid()}-{_started(os.getpid())}-{_namespace()}"


def leftovers(base: Path) -> list[Path]:
    """Groups below `base` whose supervisor has died, of this pid namespace alone."""
    found = []
    for place in base.glob(f"{_PREFIX}*-*-{_namespace()}"):
        pid, started, _ = place.name.removeprefix(_PREFIX).split("-", 2)
        if pid.isdigit() and str(_started(int(pid))) != started:
            found.append(place)
    return found


def clear(tops: Iterable[Path], until: float) -> bool:
    """Kill what is in these groups and those below, and remove them; tried again till `until`."""
    left = list(tops)
    while left := [top for top in left if not _clear(top)]:
        if time.monotonic() >= until:
            return False
        time.sleep(0.01)
    return True


def _clear(top: Path) -> bool:
    """One try; True when the group is gone."""
    try:
        below = [each for each in top.iterdir() if each.is_dir()]
    except FileNotFoundError:
        return True
    emptied = [_clear(each) for each in below]
    if top.name != OWN:
        kill(top)
    return all(emptied) and removed(top)


def kill(group: Path) -> None:
    """Kill the processes of one group."""
    with contextlib.suppress(OSError):
        pids = (group / "cgroup.procs").read_text().split()
        for pid in map(int, pids):
            if pid > 1:  # 0 is a process that this pid namespace does not show
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def removed(group: Path) -> bool:
    """Whether the group is gone; one with a process in it stays."""
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _started(pid: int) -> int | None:
    """A process's start time in clock ticks since boot; None where there is no such process."""
    try:
        text = Path("/proc", str(pid), "stat").read_bytes()
    except OSError:
        return None
    return int(text.rpartition(b")")[2].split()[19])


def _namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino
