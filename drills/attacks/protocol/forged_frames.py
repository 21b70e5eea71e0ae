"""Writes a forged answer into every descriptor it can find, its own and other processes'."""

from __future__ import annotations

import os
from typing import Any

from drills.attacks.attack import Attack, Baseline
from drills.attacks.context import Context
from drills.attacks.judges import held, reached
from drills.attacks.outcome import Observation, Verdict
from sandbox.room import wire

WORD = "FORGED"


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    own_namespace = os.readlink("/proc/self/ns/pid") != given["pid_namespace"]
    pids = [int(each) for each in os.listdir("/proc") if each.isdigit()] if own_namespace else []
    forged = [bytes.fromhex(each) for each in given["frames"]]

    def write(fd: int) -> None:
        os.set_blocking(fd, False)
        for each in forged:
            try:
                os.write(fd, each)
            except OSError:
                continue

    for fd in range(3, 256):
        try:
            write(fd)
        except OSError:
            continue
    for pid in {*pids, os.getppid()} - {os.getpid()}:
        for number in range(256):
            try:
                write(os.open(f"/proc/{pid}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK))
            except OSError:
                pass
            try:  # pidfd_open and pidfd_getfd, which have the same numbers everywhere
                pidfd = libc.syscall(434, pid, 0)
                if pidfd >= 0:
                    fd = libc.syscall(438, pidfd, number, 0)
                    os.close(pidfd)
                    if fd >= 0:
                        write(fd)
            except OSError:
                pass
    os._exit(7)


def frame(status: int) -> bytes:
    """An answer as the room's agent gives it: the run ended with this status and wrote `WORD`."""
    lines = ["end -", f"status {status}", "seconds 0.000100", "cpu_seconds 0.000100"]
    lines += [f"stdout {len(WORD)} 0 0", "stderr 0 0 0"]
    read, write = os.pipe()
    try:
        wire.send(write, lines, [WORD.encode(), b"", b"", b""])
        return os.read(read, 65_536)
    finally:
        os.close(read)
        os.close(write)


async def drive(context: Context) -> Observation:
    bare = b'{"status": 0, "timeout": false, "left": []}\n'
    frames = [bare] if context.is_control else [frame(0), b"\xff" * 64]
    return await context.run(given={"frames": [each.hex() for each in frames]})


def judge(seen: Observation) -> Verdict:
    result = seen.result
    if result.succeeded or WORD in result.stdout.text:
        return reached(f"the forged answer was believed: {result.end} {result.exit_code}")
    return held(f"{result.end} {result.exit_code}")


ATTACK = Attack(
    probe,
    expects="the real end (exit code 7), or a room that is taken for dead; never the forged answer",
    drive=drive,
    judge=judge,
    control=Baseline(as_drill=True),
)
