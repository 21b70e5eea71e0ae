"""The checker: from the log and a reading of the store, whether J1 to J14 held. Pure.

    verdict = check(log.entries, await of_store(redis), Bounds(lease=2, heartbeat=0.5, sweep=0.5))
    assert not verdict.violations, verdict.told()

It believes neither side: what a client was promised must be on record, and what is on record must
have been asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from drills.chaos import recovery
from drills.chaos.case import Bounds, Case, Finding
from drills.chaos.checks import (
    holding,
    keeping,
    listing,
    paying,
    reviewing,
    rooms,
    telling,
    upgrading,
)
from drills.chaos.oplog import Entry, Retried
from drills.chaos.reading import Reading
from drills.chaos.sight import not_looked_at

__all__ = ["CHECKS", "Bounds", "Verdict", "Violation", "check"]

Check = Callable[[Case], Iterator[Finding]]

CHECKS: Mapping[str, Sequence[Check]] = {
    "J1": (keeping.kept, upgrading.given_up),
    "J2": (keeping.once,),
    "J3": (listing.indexed,),
    "J4": (holding.held_once,),
    "J5": (holding.fenced,),
    "J6": (keeping.final_once,),
    "J7": (holding.crashes_counted,),
    "J8": (recovery.in_time,),
    "J9": (reviewing.waits_idle,),
    "J10": (reviewing.decided_once, reviewing.rejected),
    "J11": (reviewing.cancelled_for_good,),
    "J12": (telling.gapless, telling.streamed),
    "J13": (paying.repeated_for_nothing, paying.billed_once, upgrading.begun_anew),
    "J14": (rooms.nothing_left,),
}
"""The rules, by the names that design and docs/invariants.md give them."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that did not hold, for a job (empty: for none in particular), and how it shows."""

    rule: str
    job_id: str
    said: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checker found. `recoveries` are seconds, one for each job a killed worker held;
    `recoveries_alone` are those among them of jobs that had to run alone.
    `reasons` are those that jobs failed for; `tried_anew` were, when they had failed or were
    cancelled; `not_looked_at`: see sight.
    """

    jobs: int
    statuses: Mapping[str, int]
    reasons: Mapping[str, int]
    violations: tuple[Violation, ...]
    lost: tuple[str, ...]
    finished_twice: tuple[str, ...]
    repeated_paid_calls: int
    repeated_in_flight: int
    recoveries: tuple[float, ...]
    recoveries_alone: tuple[float, ...]
    tried_anew: int
    not_looked_at: Mapping[str, str]

    @property
    def recovery_p50(self) -> float | None:
        """Seconds; None where nothing had to recover."""
        return median(self.recoveries) if self.recoveries else None

    @property
    def recovery_max(self) -> float | None:
        """Seconds; None where nothing had to recover."""
        return max(self.recoveries, default=None)

    def told(self) -> str:
        """The violations, a line each."""
        return "\n".join(f"{v.rule} {v.job_id}: {v.said}" for v in self.violations)


def check(entries: Sequence[Entry], reading: Reading, bounds: Bounds) -> Verdict:
    """Judge a deployment that has come to rest by what its clients have been told."""
    case = Case(entries, reading, bounds)
    repeats = paying.repeats(case)
    came_back = [each for each in recovery.recoveries(case) if each.own is not None]
    return Verdict(
        jobs=len(reading.jobs),
        statuses=Counter(str(job.status) for job in case.jobs),
        reasons=Counter(job.reason for job in case.jobs if job.reason),
        violations=tuple(_violations(case)),
        lost=tuple(keeping.lost(case)),
        finished_twice=tuple(keeping.finished_twice(case)),
        repeated_paid_calls=sum(not each.needed for each in repeats),
        repeated_in_flight=sum(each.needed for each in repeats),
        recoveries=tuple(each.own or 0.0 for each in came_back),
        recoveries_alone=tuple(each.own or 0.0 for each in came_back if each.alone),
        tried_anew=sum(entry.granted for entry in case.all(Retried)),
        not_looked_at=not_looked_at(case),
    )


def _violations(case: Case) -> Iterator[Violation]:
    for rule, checks in CHECKS.items():
        for one in checks:
            yield from (Violation(rule, job_id, said) for job_id, said in one(case))
