"""The reaper of a supervisor's control groups: a process that removes them when it is gone.

A supervisor that has stepped down from root may not remove the group that root made for it, and one
that was killed removes nothing. So a child stays as it was, in a session of its own, and
waits for the supervisor's end or its word. Then it kills whatever is left in the groups, removes
them and ends. It reads nothing of anyone else's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import time
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

OWN = "supervisor"
"""The group of the supervisor itself (version 2): it ends by itself and is not killed."""
_PREFIX = "fettle-"
_SECONDS = 10.0


class Reaper:
    """A child that was forked for the groups `tops`; ends with this process or with `release`."""

    def __init__(self, tops: Iterable[Path]) -> None:
        kept = tuple(tops)
        read, write = os.pipe2(os.O_CLOEXEC)
        self._write: int | None = write
        # Its end itself, not only that of the pipe, whose other end a forked child may still hold.
        supervisor = os.pidfd_open(os.getpid())
        self._pid = os.fork()
        if self._pid == 0:
            _wait_and_clear((supervisor, read), kept)
        os.close(supervisor)
        os.close(read)

    def release(self, *, wait: bool) -> None:
        """Let it do its work now; `wait` until it is done. A second call does nothing."""
        if self._write is None:
            return
        os.write(self._write, b".")
        os.close(self._write)
        self._write = None
        if wait:
            with contextlib.suppress(ChildProcessError):  # somebody has reaped it
                os.waitpid(self._pid, 0)


def _wait_and_clear(signs: tuple[int, int], tops: tuple[Path, ...]) -> None:
    """The reaper's whole life; never returns."""
    try:
        os.setsid()
        os.chdir("/")
        # No other end of the supervisor's pipes and sockets may stay open here: a process that
        # waits for its end would wait for this one's.
        kept = sorted(fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in signs)
        for after, before in pairwise((-1, *kept, os.sysconf("SC_OPEN_MAX"))):
            os.closerange(after + 1, before)
        select.select(kept, [], [])
        clear(tops, time.monotonic() + _SECONDS)
    finally:
        os._exit(0)


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
