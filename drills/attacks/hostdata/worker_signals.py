"""Signals the worker by its process number, and asks whether it exists."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack

if TYPE_CHECKING:
    from drills.attacks.context import Context
    from drills.attacks.outcome import Observation


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal

    try:
        with open(f"/proc/{given['pid']}/stat") as file:
            if file.read().rpartition(")")[2].split()[19] != given["started"]:
                return None  # the same number by chance, in a room of its own
    except OSError:
        pass
    for number in (0, signal.SIGCONT):  # neither does it harm
        try:
            os.kill(given["pid"], number)
        except ProcessLookupError:
            continue
        except PermissionError:
            return f"process {given['pid']} is there, though not ours"
        return f"signal {int(number)} sent to {given['pid']}"
    for ask in (os.getpgid, os.getsid, os.sched_getaffinity):
        try:
            return f"{ask.__name__} of the worker: {ask(given['pid'])}"
        except OSError:
            continue
    return None


def _started() -> str:
    return Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]


async def drive(context: Context) -> Observation:
    return await context.run(given={"started": _started()})


ATTACK = Attack(
    probe,
    expects="its number means nothing in a room",
    drive=drive,
)
