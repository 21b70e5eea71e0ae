"""The reaper of a baseline's process:
`python -m lab.drills.attacks.environment.reaper REPORT UID SECONDS PROCESSES ARGV...`.

It adopts every orphan below, whatever session it puts itself into, and kills all of them in the
end: a control may do its worst, and nothing of it stays. Last it writes to the descriptor
REPORT, as JSON: the status, how the program ended, what outlived it.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

from sandbox.protocol import MIB

from lab.drills import process_tree

_SETTLE_SECONDS = 0.3
_ROUNDS_SECONDS = 1.0
_MOST_SECONDS = 10.0
_BOUNDS = {
    resource.RLIMIT_CPU: 30,
    resource.RLIMIT_FSIZE: 256 * MIB,
    resource.RLIMIT_AS: 4096 * MIB,
    resource.RLIMIT_CORE: 0,
}


def main() -> None:
    """Run one program; see the module."""
    report, uid, seconds, processes = int(sys.argv[1]), *map(float, sys.argv[2:5])
    os.set_inheritable(report, False)
    process_tree.adopt_orphans()
    pid = os.fork()
    if pid == 0:
        _become(int(uid), int(processes), sys.argv[5:])
    status, timed_out = _follow(pid, time.monotonic() + seconds)
    time.sleep(0 if timed_out else _SETTLE_SECONDS)
    left = [] if timed_out else [each.name for each in _children() or _children()]
    _end_all(int(uid))
    found = {"status": status, "timeout": timed_out, "left": left[:20]}
    os.write(report, json.dumps(found).encode() + b"\n")


def _become(uid: int, processes: int, argv: list[str]) -> None:
    """Turn this child into the program; never returns."""
    try:
        os.setsid()
        for bound, value in _BOUNDS.items():
            resource.setrlimit(bound, (value, value))
        owners = (
            (_owner(each.pid) for each in process_tree.everyone()) if uid < 0 else ()
        )
        there = sum(owner == os.geteuid() for owner in owners)
        resource.setrlimit(
            resource.RLIMIT_NPROC, (there + processes, there + processes)
        )
        if uid >= 0:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error}\n".encode())
    finally:
        os._exit(126)


def _follow(pid: int, deadline: float) -> tuple[int, bool]:
    """Wait for the program; orphans that end meanwhile are reaped along the way."""
    while time.monotonic() < deadline:
        with contextlib.suppress(ChildProcessError):
            ended, status = os.waitpid(-1, os.WNOHANG)
            if ended == pid:
                return status, False
            if ended:
                continue
        time.sleep(0.005)
    return 0, True


def _end_all(uid: int) -> None:
    """Kill whatever descends from here, round by round, first stopped, so that few can fork away;
    what flees all the same, with everything of its user, who is nobody else.
    """
    started = time.monotonic()
    while time.monotonic() < started + _MOST_SECONDS:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        below = _descendants() or _descendants()
        if not below:
            return
        if uid >= 0 and time.monotonic() > started + _ROUNDS_SECONDS:
            _kill_user(uid)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for each in below:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each.pid, number)
        time.sleep(0.005)


def _kill_user(uid: int) -> None:
    pid = os.fork()
    if pid == 0:
        os.setresuid(uid, uid, uid)
        os.kill(-1, signal.SIGKILL)  # itself left out, says kill(2)
        os._exit(0)
    os.waitpid(pid, 0)


def _children() -> list[process_tree.Process]:
    return [each for each in process_tree.children(os.getpid()) if each.state != "Z"]


def _descendants() -> list[process_tree.Process]:
    return [each for each in process_tree.below(os.getpid()) if each.state != "Z"]


def _owner(pid: int) -> int:
    """Whose process it is."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return -1


if __name__ == "__main__":
    main()
