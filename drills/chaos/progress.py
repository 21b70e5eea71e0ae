"""Progress: what has happened so far, for the screen. The verdict comes from the checker."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from cli.client.events import Event
from drills.chaos.checks.recovery import KILLS
from drills.chaos.oplog import Struck

FINAL = frozenset({"succeeded", "failed", "cancelled"})


@dataclass
class Progress:
    """Counts; recoveries are the checker's to find."""

    seconds: float
    submitted: int = 0
    living: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    doing: str = "starting"
    _begun: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """The time runs from now."""
        self._begun = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._begun

    @property
    def kills(self) -> int:
        """Workers that were killed, whole ones and forked ones."""
        return sum(self.faults[kind] for kind in KILLS)

    def struck(self, fault: Struck) -> None:
        """A fault found its target."""
        self.faults[fault.fault] += 1

    def heard(self, event: Event) -> None:
        """A stream has sent an event of a job."""
        if event.kind in FINAL:
            self.ended[event.kind] += 1

    def line(self) -> str:
        """One line."""
        parts = [
            f"{self.elapsed:.0f} of {self.seconds:.0f} s",
            self.doing,
            f"{self.submitted} jobs, {self.living} under way",
            ", ".join(f"{count} {status}" for status, count in sorted(self.ended.items())),
            f"{sum(self.faults.values())} faults, {self.kills} kills",
        ]
        return " · ".join(part for part in parts if part)
