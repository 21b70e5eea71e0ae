"""Runs the program of a control, and kills all its descendants at the end.

    python -m lab.drills.attacks.environment.reaper REPORT UID SECONDS PROCESSES ARGV...

The reaper adopts orphans, so that it finds every descendant, also in another session. At the end it
writes a JSON line to the descriptor REPORT: {status, timeout, left}, where `left` has the names of
processes that outlived the program.
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

from lab.drills import process_tree
from sandbox.protocol import MIB

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
    """Run the program of the command line; see the module."""
    report, uid, seconds, processes = int(sys.argv[1]), *map(float, sys.argv[2:5])
    os.set_inheritable(report, False)
    process_tree.adopt_orphans()
    pid = os.fork()
    if pid == 0:
        exec_program(int(uid), int(processes), sys.argv[5:])
    status, timed_out = wait_for_program(pid, time.monotonic() + seconds)
    time.sleep(0 if timed_out else _SETTLE_SECONDS)
    survivors = (
        [] if timed_out else [process.name for process in living_children() or living_children()]
    )
    kill_descendants(int(uid))
    outcome = {"status": status, "timeout": timed_out, "left": survivors[:20]}
    os.write(report, json.dumps(outcome).encode() + b"\n")


def exec_program(uid: int, processes: int, argv: list[str]) -> None:
    """Replace this child by the program, with limits and as the user `uid`. Never returns."""
    try:
        os.setsid()
        for bound, value in _BOUNDS.items():
            resource.setrlimit(bound, (value, value))
        owners = (owner_of(process.pid) for process in process_tree.everyone()) if uid < 0 else ()
        existing_processes = sum(owner == os.geteuid() for owner in owners)
        resource.setrlimit(
            resource.RLIMIT_NPROC, (existing_processes + processes, existing_processes + processes)
        )
        if uid >= 0:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        os.write(2, f"{argv[0]}: {error}\n".encode())
    finally:
        os._exit(126)


def wait_for_program(pid: int, deadline: float) -> tuple[int, bool]:
    """Wait for the program, and reap orphans that end before it. Returns its status, and whether
    the deadline passed first."""
    while time.monotonic() < deadline:
        with contextlib.suppress(ChildProcessError):
            ended_pid, status = os.waitpid(-1, os.WNOHANG)
            if ended_pid == pid:
                return status, False
            if ended_pid:
                continue
        time.sleep(0.005)
    return 0, True


def kill_descendants(uid: int) -> None:
    """Kill all descendants, in rounds. Each round stops all of them before it kills them, so that
    few can fork. After some time, it kills all processes of the user `uid`, which only runs
    controls.
    """
    started = time.monotonic()
    while time.monotonic() < started + _MOST_SECONDS:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        descendants = living_descendants() or living_descendants()
        if not descendants:
            return
        if uid >= 0 and time.monotonic() > started + _ROUNDS_SECONDS:
            kill_processes_of_user(uid)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in descendants:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, number)
        time.sleep(0.005)


def kill_processes_of_user(uid: int) -> None:
    pid = os.fork()
    if pid == 0:
        os.setresuid(uid, uid, uid)
        os.kill(-1, signal.SIGKILL)  # kill(2) leaves out the caller
        os._exit(0)
    os.waitpid(pid, 0)


def living_children() -> list[process_tree.Process]:
    return [process for process in process_tree.children(os.getpid()) if process.state != "Z"]


def living_descendants() -> list[process_tree.Process]:
    return [process for process in process_tree.below(os.getpid()) if process.state != "Z"]


def owner_of(pid: int) -> int:
    """The user of a process; -1 if it has ended."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return -1


if __name__ == "__main__":
    main()
