"""Processes below a process, from /proc.

A process is identified by its pid and its start time, because pids are reused.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
STOPPED = frozenset("ZX")


@dataclass(frozen=True, slots=True)
class Process:
    """A process; `name` is its own name for itself, `started_ticks` its start in clock ticks since
    boot."""

    pid: int
    parent: int
    started_ticks: int
    state: str
    name: str = ""

    @property
    def command(self) -> str:
        """The command line; empty if the process has ended."""
        with contextlib.suppress(OSError):
            argv = Path(f"/proc/{self.pid}/cmdline").read_bytes().split(b"\0")
            return b" ".join(argv).decode(errors="replace").strip()
        return ""

    @property
    def lives(self) -> bool:
        """Whether the process has not ended; a zombie has ended."""
        now = process(self.pid)
        return (
            now is not None and now.started_ticks == self.started_ticks and now.state not in STOPPED
        )

    def signal(self, signum: signal.Signals) -> bool:
        """Send a signal to the process, not to its group; False if it has ended."""
        if not self.lives:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signum)
            return True
        return False


def adopt_orphans() -> None:
    """Make this process the parent of all orphans below it from now on (Linux)."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def process(pid: int) -> Process | None:
    """The process with this pid, or None."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name in brackets may contain any character, including spaces and brackets.
    head, _, fields_text = stat.rpartition(b")")
    fields, name = fields_text.split(), head.partition(b"(")[2].decode(errors="replace")
    return Process(pid, int(fields[1]), int(fields[19]), fields[0].decode(), name)


def living(pid: int) -> list[Process]:
    """A list with the process of this pid; empty if it has ended."""
    found_process = process(pid)
    return (
        [found_process] if found_process is not None and found_process.state not in STOPPED else []
    )


def is_alive(pid: int) -> bool:
    """Whether the process of this pid has not ended; a zombie has ended."""
    return bool(living(pid))


def children(pid: int) -> list[Process]:
    """The children of a process, the oldest first."""
    return sorted(
        (p for p in everyone() if p.parent == pid), key=lambda p: (p.started_ticks, p.pid)
    )


def below(*pids: int) -> list[Process]:
    """All descendants of the processes."""
    by_parent: dict[int, list[Process]] = {}
    for member in everyone():
        by_parent.setdefault(member.parent, []).append(member)
    descendants: list[Process] = []
    waiting = list(pids)
    while waiting:
        next_ones = by_parent.pop(waiting.pop(), [])
        descendants += next_ones
        waiting += [member.pid for member in next_ones]
    return descendants


def everyone() -> Iterable[Process]:
    """All visible processes."""
    for path in Path("/proc").glob("[0-9]*"):
        if (member := process(int(path.name))) is not None:
            yield member
