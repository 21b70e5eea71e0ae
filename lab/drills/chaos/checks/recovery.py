"""J8: the time until the jobs of a dead worker run again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lab.drills.chaos.checks.attempts import RecordedAttempt
from lab.drills.chaos.checks.case import ChaosCase, Finding
from lab.drills.chaos.oplog import Repaired, Struck

KILLS = frozenset({"worker-kill", "child-kill"})
"""Faults that end a worker without a message."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """A job of a worker that was killed. `seconds` is the time from the kill to the job's next
    attempt, or None without a next attempt. During `blind` of these seconds, no job could continue.
    """

    job_id: str
    fault: str
    seconds: float | None
    blind: float
    alone: bool
    """The job had crashed twice, so a separate process had to be started for it first (J7)."""

    @property
    def own_seconds(self) -> float | None:
        """The duration of the recovery, without the time in which no job could continue."""
        return None if self.seconds is None else max(self.seconds - self.blind, 0.0)


def recoveries(case: ChaosCase) -> list[Recovery]:
    """A recovery for each job of a killed worker, unless the job ended in another way."""
    kills = [entry for entry in case.all(Struck) if entry.fault in KILLS]
    by_pid = {pid: kill for kill in kills for pid in kill.pids}
    blind = _blind(case)
    recovered = []
    for job_id, tried in case.attempts.items():
        for nth, attempt in enumerate(tried):
            kill = by_pid.get(attempt.pid) if attempt.pid is not None else None
            if kill is None or not _held_at(attempt, kill):
                continue
            after = tried[nth + 1].started_ms / 1000 if nth + 1 < len(tried) else None
            if after is None and case.reading.jobs[job_id].status.final:
                continue  # the job was cancelled or poisoned: no attempt had to follow
            dark = _overlap(blind, kill.at.wall, after or float("inf"))
            seconds = None if after is None else after - kill.at.wall
            recovered.append(Recovery(job_id, kill.fault, seconds, dark, attempt.next_alone))
    return recovered


def in_time(case: ChaosCase) -> Iterator[Finding]:
    """J8: jobs run again within lease + sweep (+ slack), without the time in which no job could
    continue.

    A job that must run alone also gets the time for starting its process. No other time is allowed,
    such as the wait for a free slot.
    """
    for recovery in recoveries(case):
        most = case.bounds.recovery + (case.bounds.start if recovery.alone else 0)
        if recovery.own_seconds is None:
            yield recovery.job_id, f"never ran again after a {recovery.fault}"
        elif recovery.own_seconds > most + (case.bounds.grace if recovery.blind else 0):
            seconds, fault = recovery.own_seconds, recovery.fault
            text = f"ran again {seconds:.1f} s after a {fault}; {most:.1f} s is the bound"
            yield recovery.job_id, text


def _held_at(attempt: RecordedAttempt, kill: Struck) -> bool:
    """Whether the worker had the job's lease when it was killed. A frozen worker may have lost its
    lease before.
    """
    end = attempt.end
    lost = end is None or (end.kind == "lease_lost" and end.at / 1000 > kill.at.wall)
    return lost and attempt.started_ms / 1000 <= kill.at.wall


def _blind(case: ChaosCase) -> list[tuple[float, float]]:
    """The intervals in which no job could continue, in wall-clock seconds."""
    intervals, open_since = [], dict[str, float]()
    for entry in case.entries:
        if isinstance(entry, Struck) and entry.blinds:
            open_since.setdefault(entry.fault, entry.at.wall)
        elif isinstance(entry, Repaired) and entry.fault in open_since:
            intervals.append((open_since.pop(entry.fault), entry.at.wall))
    intervals += [(since, float("inf")) for since in open_since.values()]
    return intervals


def _overlap(spans: Sequence[tuple[float, float]], begin: float, end: float) -> float:
    """The part of the time from `begin` to `end` that is within the spans."""
    total, reached = 0.0, begin
    for since, until in sorted(spans):
        start, stop = max(since, reached), min(until, end)
        if stop > start:
            total, reached = total + stop - start, stop
    return total
