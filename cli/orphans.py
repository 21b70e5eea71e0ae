"""Processes that a dead child of ours has left behind come to us, so that we can end them (Linux).

Elsewhere nothing is adopted, and the lists are empty.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """For the length of the block, be the parent of every descendant whose own parent dies."""
    if sys.platform != "linux":
        yield
        return
    prctl, before = ctypes.CDLL(None).prctl, ctypes.c_int()
    prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(before))
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, before)  # who calls us may not reap what comes to him


def children() -> set[int]:
    """The processes whose parent we are."""
    own = os.getpid()
    return {pid for pid in _pids() if _parent(pid) == own}


def end(grace_seconds: float, spared: set[int]) -> None:
    """Let our children but the `spared` end by themselves for a moment, then kill them: all."""
    deadline = time.monotonic() + grace_seconds
    while strays := children() - spared:
        late = time.monotonic() > deadline
        for pid in strays:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                if late:
                    os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0 if late else os.WNOHANG)
        time.sleep(0.01)


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def _parent(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name, in brackets, may hold anything: spaces and brackets too.
    return int(stat.rpartition(b")")[2].split()[1])
