"""Decides which containers belong to workers that have ended. Pure, except `current_owner` and
`is_alive`.

A container ends by itself when its worker's connection ends. Garbage collection removes containers
that could not: their code had stopped the agent, or their engine was killed.
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
"""Identifies one container: its owner knows the mark before the engine makes the container, and
until it is removed."""
MACHINE, _PROCESS = "fettle.machine", "fettle.process"

ABANDONED_SECONDS = 3 * LIFE_SECONDS
"""A pool replaces sandboxes after LIFE_SECONDS, so a much older container has lost its worker. This
holds also for workers of other machines."""


@dataclass(frozen=True, slots=True)
class Owner:
    """One backend of one worker process."""

    id: str
    machine: str
    """This boot of this machine, and the pid namespace of `process`."""
    process: str
    """A process id and its start time."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of its containers."""
        return {OWNER: self.id, MACHINE: self.machine, _PROCESS: self.process}


def current_owner() -> Owner:
    """This process as a new owner."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    machine = f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    pid = os.getpid()
    return Owner(uuid.uuid4().hex, machine, f"{pid} {read_start_time(pid)}")


def is_abandoned(
    labels: Mapping[str, str], age: float, owner: Owner, is_alive: Callable[[str], bool]
) -> bool:
    """Whether a container with these labels, `age` seconds old, has lost its worker. Containers of
    `owner`, the calling worker, never count as abandoned.
    """
    if labels.get(OWNER) == owner.id:
        return False
    if labels.get(MACHINE) == owner.machine:
        return not is_alive(labels.get(_PROCESS, ""))
    return age > ABANDONED_SECONDS


def is_alive(process: str) -> bool:
    """Whether the process of a label runs on this machine. A process that the machine hides from
    other users (`hidepid`) counts as running.
    """
    pid, _, start_time = process.partition(" ")
    if not pid.isdecimal():
        return False
    try:
        return _read_start_time(int(pid)) == start_time
    except OSError:
        return _is_hidden(int(pid))


def read_start_time(pid: int) -> str | None:
    """A process's start time in the kernel's ticks; None if it does not exist or is dead."""
    try:
        return _read_start_time(pid)
    except OSError:
        return None


def _read_start_time(pid: int) -> str | None:
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return None if fields[0] in {b"Z", b"X"} else fields[19].decode()  # man 5 proc: starttime


def _is_hidden(pid: int) -> bool:
    """Whether the process exists although /proc does not show it."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return False  # a process of this user that has started or ended just now
