"""The memory of processes and all their descendants: supervisors, zygotes, sandboxes.

A page that several processes share is divided among them (PSS): forks of one zygote share nearly
all their pages, and RSS would count these pages once for each sandbox. If PSS cannot be read, RSS
is used, which is larger.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from lab.drills import process_tree

EVERY_SECONDS = 1.0
"""The interval of the readings in seconds: a reading takes some 25 ms of processor time, which the
measured processes lose.
"""
_PROC = Path("/proc")
_KIB_A_PAGE = 4


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """The memory in MiB of the processes themselves, and of their descendants."""

    unshared: float = 0.0
    below: float = 0.0

    @property
    def together(self) -> float:
        """The sum."""
        return self.unshared + self.below


def measure_memory(pids: Sequence[int]) -> MemoryUse:
    """The present memory of these processes and their descendants."""
    below = {process.pid for process in process_tree.below(*pids)} - set(pids)
    return MemoryUse(sum(map(_kib, pids)) / 1024, sum(map(_kib, below)) / 1024)


class Peak:
    """The peak during a `with` block, read each second and at its end."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)
        self.most = MemoryUse()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        over = False
        while not over:
            over = self._over.wait(EVERY_SECONDS)
            self.most = max(self.most, measure_memory(self._pids), key=lambda each: each.together)


def _kib(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    with contextlib.suppress(OSError):
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _KIB_A_PAGE
    return 0
