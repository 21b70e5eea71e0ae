"""Progress: what has happened so far, for whoever watches. The verdict comes from the checker."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from statistics import median

from cli.events import Event
from drills.chaos.oplog import Struck
from drills.chaos.recovery import KILLS


@dataclass
class Progress:
    """Counts. `recoveries` are seconds from a kill to the next attempt, as streams told of it."""

    seconds: float
    submitted: int = 0
    living: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    recoveries: list[float] = field(default_factory=list)
    doing: str = "starting"
    _begun: float = field(default_factory=time.monotonic)
    _holders: dict[str, int] = field(default_factory=dict)
    _orphans: dict[str, float] = field(default_factory=dict)

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
        if fault.fault in KILLS:
            now = time.monotonic()
            for job_id, pid in self._holders.items():
                if pid in fault.pids:
                    self._orphans.setdefault(job_id, now)

    def heard(self, job_id: str, event: Event) -> None:
        """A stream told of a job."""
        match event.kind:
            case "started":
                self._holders[job_id] = _pid(str(event.data["worker"]))
                if (since := self._orphans.pop(job_id, None)) is not None:
                    self.recoveries.append(time.monotonic() - since)
            case "succeeded" | "failed" | "cancelled":
                self.ended[event.kind] += 1
                self._forget(job_id)
            case "given_back" | "review_opened":
                self._forget(job_id)

    def told(self) -> str:
        """One line."""
        took = self.recoveries
        parts = [
            f"{self.elapsed:.0f} of {self.seconds:.0f} s",
            self.doing,
            f"{self.submitted} jobs, {self.living} under way",
            ", ".join(f"{count} {status}" for status, count in sorted(self.ended.items())),
            f"{sum(self.faults.values())} faults, {self.kills} kills",
            f"recovery {median(took):.1f} s, worst {max(took):.1f} s" if took else "",
        ]
        return " · ".join(part for part in parts if part)

    def _forget(self, job_id: str) -> None:
        self._holders.pop(job_id, None)
        self._orphans.pop(job_id, None)


def _pid(worker: str) -> int:
    number = worker.split(":")[-2] if worker.count(":") >= 2 else ""
    return int(number) if number.isdigit() else 0
