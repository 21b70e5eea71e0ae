"""What processes take in memory, with all that they have started: supervisors, zygotes, sandboxes.

A page that several processes share counts in parts (PSS): copies of one zygote share nearly all
of theirs, and the sum of what each maps (RSS) would count those pages once a sandbox. Where PSS may
not be read, RSS counts, which is more.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from drills import process_tree

EVERY_SECONDS = 1.0
"""A look takes some 25 ms of a processor, which those that are looked at could use."""
_PROC = Path("/proc")
_KIB_A_PAGE = 4


@dataclass(frozen=True, slots=True)
class Taken:
    """MiB: of the processes themselves, and of what they have started."""

    own: float = 0.0
    below: float = 0.0

    @property
    def together(self) -> float:
        """All of it."""
        return self.own + self.below


def taken(pids: Sequence[int]) -> Taken:
    """What these processes and all below them take now."""
    below = {each.pid for each in process_tree.below(*pids)} - set(pids)
    return Taken(sum(map(_kib, pids)) / 1024, sum(map(_kib, below)) / 1024)


class Peak:
    """The most that was seen while a `with` block ran, looked at each second and at its end."""

    def __init__(self, pids: Sequence[int]) -> None:
        self._pids = pids
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)
        self.most = Taken()

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
            self.most = max(self.most, taken(self._pids), key=lambda each: each.together)


def _kib(pid: int) -> int:
    with contextlib.suppress(OSError):
        for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    with contextlib.suppress(OSError):
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * _KIB_A_PAGE
    return 0
