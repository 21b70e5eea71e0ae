"""Starts and reaps the supervisor's process, for the worker."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

_EXIT_SECONDS = 10.0
"""How long a supervisor may take to end after its socket was closed."""


def start_supervisor(descriptor: int) -> subprocess.Popen[bytes]:
    """Start a supervisor that serves the socket `descriptor`, with an empty environment and in a
    session without this terminal.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "sandbox.local", str(descriptor)],
        env={},
        cwd=Path(__file__).resolve().parent.parent.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        pass_fds=(descriptor,),
        start_new_session=True,
    )


def reap_supervisor(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a supervisor after its socket was closed; kill it after `_EXIT_SECONDS`.

    If a supervisor was killed, sandboxes that had not started may remain (`zygote.adopt_orphans`)
    in its process group. This kills the group before it reaps the supervisor, because afterwards
    another process may get the group's number.
    """
    pidfd = os.pidfd_open(process.pid)
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    try:
        if not poll.poll(1000 * _EXIT_SECONDS):
            process.kill()
            poll.poll()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    finally:
        os.close(pidfd)
    process.wait()
