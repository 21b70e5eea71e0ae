"""Runs a command and reports the processes that outlive it: `reaper.py REPORT GRACE COMMAND...`.

Every orphan of the command becomes a child of this process (PR_SET_CHILD_SUBREAPER), even if it has
left its session or group, so no process can hide. The file REPORT first contains {"pid"}, and later
{"pid", "code", "orphans", "left"}. `orphans` is the number of ended processes that the command had
not collected. `left` are the commands of the processes that still lived GRACE seconds after the
command's end; this process kills them.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    report, grace, argv = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The command receives these signals, too, and decides what happens.
        signal.signal(signum, lambda *_: None)
    process = subprocess.Popen(argv)
    report.write_text(json.dumps({"pid": process.pid}))
    code = process.wait()
    ended_count, _ = reap()
    report.write_text(
        json.dumps(
            {"pid": process.pid, "code": code, "orphans": ended_count, "left": survivors(grace)}
        )
    )


def survivors(grace: float) -> list[str]:
    """The processes that still live after the grace period."""
    deadline = time.monotonic() + grace
    while time.monotonic() < deadline and reap()[1]:
        time.sleep(0.02)
    remaining = [(pid, command(pid)) for pid in reap()[1]]
    for pid, _ in remaining:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return [name for _, name in remaining]


def reap() -> tuple[int, list[int]]:
    """Collect the children that have ended. Returns their number, and the live children."""
    ended_count = 0
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            ended_count += 1
    except ChildProcessError:
        return ended_count, []
    own_pid = str(os.getpid())
    pids = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return ended_count, [pid for pid in pids if parent(pid) == own_pid]


def parent(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
    except OSError:
        return ""


def command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()


if __name__ == "__main__":
    main()
