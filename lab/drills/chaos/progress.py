"""Progress: the present counts, from the operation log. The verdict comes from the checker."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from lab.drills.chaos.checks.recovery import KILLS
from lab.drills.chaos.oplog import OperationLog, Struck, Submitted
from lab.drills.chaos.schedule import Kind

_KINDS = frozenset(Kind)


@dataclass
class Progress:
    """A run of `seconds` seconds; `doing` describes its present phase."""

    log: OperationLog
    seconds: float
    doing: str = "starting"
    _started_at: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """Start the clock."""
        self._started_at = time.monotonic()

    @property
    def elapsed(self) -> float:
        """The seconds since the start."""
        return time.monotonic() - self._started_at

    @property
    def faults(self) -> Counter[str]:
        """The faults of the schedule that have found a target, by kind."""
        struck = (entry.fault for entry in self.log.entries if isinstance(entry, Struck))
        return Counter(fault for fault in struck if fault in _KINDS)

    @property
    def kills(self) -> int:
        """The number of killed workers, separate and forked ones."""
        return _kills(self.faults)

    def line(self) -> str:
        """The progress as one line."""
        jobs = {entry.key for entry in self.log.entries if isinstance(entry, Submitted)}
        struck = self.faults
        faults = f"{struck.total()} faults, {_kills(struck)} kills"
        time_ = f"{self.elapsed:.0f} of {self.seconds:.0f} s"
        return f"{time_} · {self.doing} · {len(jobs)} jobs · {faults}"


def _kills(faults: Counter[str]) -> int:
    return sum(faults[kind] for kind in KILLS)
