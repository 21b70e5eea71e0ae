"""Orphans: inits of sandboxes whose bubblewrap was killed before it let them begin.

bubblewrap starts a sandbox's init, which waits for a word from it before anything else, also before
it asks to die with its parent. Killed in between, bubblewrap leaves an init that waits for ever.
Nothing of a job ever runs in it, but it would stay until the machine is restarted.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from pathlib import Path

from sandbox.protocol import SandboxUnavailable

_PR_SET_CHILD_SUBREAPER = 36


def adopt() -> None:
    """From now on orphans below this process become its children. Raises SandboxUnavailable."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise SandboxUnavailable(f"prctl: {os.strerror(ctypes.get_errno())}")


def end() -> None:
    """Kill and reap those that this process has adopted."""
    # Not by `[0-9]*/status`: a glob looks whether that is there, and may fail for who has ended.
    for place in Path("/proc").glob("[0-9]*"):
        try:
            status = (place / "status").read_text()
            output = dict(line.split(":\t", 1) for line in status.splitlines())
        except (OSError, ValueError):  # it has ended meanwhile
            continue
        # A child that we started ourselves lives in our own pid namespace and in no other.
        if output["PPid"] == str(os.getpid()) and len(output.get("NSpid", "").split()) > 1:
            pid = int(output["Pid"])
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
