"""Orphans: processes that children of `fettle up` leave behind, such as the sandboxes of a worker
that was killed.

They end by themselves, and are collected here: in a container without an init nobody else would,
and each would stay as a zombie.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import time
from collections.abc import Collection
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
LOOK_SECONDS = 0.02
MOST_SECONDS = 2.0


def adopt() -> None:
    """Make orphans below this process its children, instead of those of process 1 (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def collect(ours: Collection[int] = ()) -> bool:
    """Collect those that have ended, but not `ours`; whether any still runs."""
    left = [pid for pid in _children() if pid not in ours and not _collected(pid)]
    return bool(left)


def wait() -> None:
    """Collect all of them, for a limited time; no other child is left by now."""
    ends = time.monotonic() + MOST_SECONDS
    while collect() and time.monotonic() < ends:
        time.sleep(LOOK_SECONDS)


def _children() -> set[int]:
    found: set[int] = set()
    for listed in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            found.update(map(int, listed.read_text().split()))
    return found


def _collected(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
