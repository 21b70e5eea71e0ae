"""Whose a container is, and whether its worker is gone. Pure but for `look` and `is_alive`.

A container ends by itself when its worker's connection does. What this finds is what could not:
an agent that its code has stopped, or containers of an engine that was killed meanwhile.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.pool import LIFE_SECONDS

OWNER = "fettle.sandbox"
MARK = "fettle.mark"
"""Of one making: its owner has it in mind before the engine is asked, and until the end."""
MACHINE, _PROCESS = "fettle.machine", "fettle.process"

LEFT_SECONDS = 3 * LIFE_SECONDS
"""A pool replaces what stands ready for longer than LIFE_SECONDS: so whatever is much older is left
over, as a worker of another machine can see, too."""


@dataclass(frozen=True, slots=True)
class Owner:
    """One backend of one worker's process."""

    id: str
    machine: str
    """This boot of this machine, and the pid namespace in which `process` means something."""
    process: str
    """A process id and when it started."""

    @property
    def labels(self) -> Mapping[str, str]:
        """As on its containers."""
        return {OWNER: self.id, MACHINE: self.machine, _PROCESS: self.process}


def look() -> Owner:
    """This process, as a new owner."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    machine = f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    pid = os.getpid()
    return Owner(uuid.uuid4().hex, machine, f"{pid} {started(pid)}")


def is_left(
    labels: Mapping[str, str], age: float, own: Owner, is_alive: Callable[[str], bool]
) -> bool:
    """Whether a container with these labels, `age` seconds old, has lost its worker."""
    if labels.get(OWNER) == own.id:
        return False
    if labels.get(MACHINE) == own.machine:
        return not is_alive(labels.get(_PROCESS, ""))
    return age > LEFT_SECONDS


def is_alive(process: str) -> bool:
    """Whether the process of this machine that a label names still runs. One that the machine
    does not show to other users (`hidepid`) does, as far as we may know.
    """
    pid, _, since = process.partition(" ")
    if not pid.isdecimal():
        return False
    try:
        return _started(int(pid)) == since
    except OSError:
        return _is_hidden(int(pid))


def started(pid: int) -> str | None:
    """When a process started, in the kernel's ticks; None where there is none or a dead one."""
    try:
        return _started(pid)
    except OSError:
        return None


def _started(pid: int) -> str | None:
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return None if fields[0] in {b"Z", b"X"} else fields[19].decode()  # man 5 proc: starttime


def _is_hidden(pid: int) -> bool:
    """Whether there is such a process, though /proc does not show it."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return False  # one's own, which has come, or gone, just now
