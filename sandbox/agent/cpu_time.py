"""The processor time of a run, from every counter there is; each knows a part, the highest counts.

Of a child of a process that ignores SIGCHLD nothing is left for anyone to count (man 2 wait). Its
control group has counted it, where there is one; elsewhere what was seen of it while it lived.
"""

from __future__ import annotations

import os
import time

TICKS = os.sysconf("SC_CLK_TCK")


class CpuTime:
    """`clock` is a descriptor of the control group's own count: `cpuacct.usage` of version 1 or
    `cpu.stat` of version 2. None: there is no group.
    """

    def __init__(self) -> None:
        self.clock: int | None = None
        self._began = 0.0
        self._each: dict[int, int] = {}
        self._seen = self._waited = 0

    def begin(self) -> None:
        """What the group has used until now was not the run's."""
        self._began = self._of_group()

    def see(self, pid: int, ticks: int) -> None:
        """What a process itself has used, which stays counted when it has gone; a count that goes
        backwards is that of another process with its number.
        """
        before = self._each.get(pid, 0)
        self._seen += ticks - before if ticks >= before else ticks
        self._each[pid] = ticks

    def wait(self, ticks: int) -> None:
        """What all have used that are there, and all whom they waited for."""
        self._waited = max(self._waited, ticks)

    @property
    def seconds(self) -> float:
        """The run's processor time until now, or the most that is known of it."""
        counted = max(self._waited, self._seen) / TICKS
        return max(counted, self._of_group() - self._began)

    def _of_group(self) -> float:
        """The seconds that the group has used but for this process; 0 without a group."""
        if self.clock is None:
            return 0.0
        text = os.pread(self.clock, 256, 0)
        if text.startswith(b"usage_usec"):
            seconds = int(text.split(None, 2)[1]) / 1e6
        else:
            seconds = int(text) / 1e9
        return seconds - time.process_time()
