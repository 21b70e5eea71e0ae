"""The checker: from the log and a reading of the store, whether J1 to J14 held. Pure.

    verdict = check(log.entries, await of_store(redis), Bounds(lease=2, heartbeat=0.5, sweep=0.5))
    assert not verdict.violations, verdict.as_text()

It believes neither side: each promise to a client must be on record, and a client must have
requested each change that is on record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from lab.drills.chaos.checks import (
    acceptance,
    checkpoints,
    events,
    indexes,
    leases,
    recovery,
    reviews,
    spending,
)
from lab.drills.chaos.checks.case import ChaosCase, Finding, RecoveryBounds
from lab.drills.chaos.deployment.reading import Reading
from lab.drills.chaos.oplog import Entry, Retried

__all__ = ["CHECKS", "CheckerVerdict", "RecoveryBounds", "Violation", "check"]

Check = Callable[[ChaosCase], Iterator[Finding]]

CHECKS: Mapping[str, Sequence[Check]] = {
    "J1": (acceptance.accepted_jobs_exist, checkpoints.given_up),
    "J2": (acceptance.once,),
    "J3": (indexes.indexed,),
    "J4": (leases.held_once,),
    "J5": (leases.fenced,),
    "J6": (acceptance.final_once,),
    "J7": (leases.crashes_counted,),
    "J8": (recovery.in_time,),
    "J9": (reviews.waits_idle,),
    "J10": (reviews.decided_once, reviews.rejected),
    "J11": (reviews.cancelled_for_good,),
    "J12": (events.gapless, events.streamed),
    "J13": (spending.repeated_for_nothing, spending.billed_once, checkpoints.begun_anew),
    "J14": (leases.nothing_left,),
}
"""The rules, by their names in docs/invariants.md."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that was broken for a job (empty: for no particular job), with the evidence."""

    rule: str
    job_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CheckerVerdict:
    """The checker's findings. `recoveries` has the seconds for each job of a killed worker;
    `recoveries_alone` is the part of them for jobs that had to run alone. `reasons` counts the
    reasons of failed jobs, `retried` the retries of failed or cancelled jobs.
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
    retried: int

    @property
    def recovery_p50(self) -> float | None:
        """The median in seconds; None if no job had to recover."""
        return median(self.recoveries) if self.recoveries else None

    @property
    def recovery_max(self) -> float | None:
        """The maximum in seconds; None if no job had to recover."""
        return max(self.recoveries, default=None)

    def as_text(self) -> str:
        """The violations, one line each."""
        return "\n".join(f"{v.rule} {v.job_id}: {v.text}" for v in self.violations)


def check(entries: Sequence[Entry], reading: Reading, bounds: RecoveryBounds) -> CheckerVerdict:
    """Judge a deployment at rest by the answers that its clients received."""
    case = ChaosCase(entries, reading, bounds)
    repeats = spending.repeats(case)
    came_back = [
        recovered for recovered in recovery.recoveries(case) if recovered.own_seconds is not None
    ]
    return CheckerVerdict(
        jobs=len(reading.jobs),
        statuses=Counter(str(job.status) for job in case.jobs),
        reasons=Counter(job.reason for job in case.jobs if job.reason),
        violations=tuple(_violations(case)),
        lost=tuple(acceptance.lost(case)),
        finished_twice=tuple(acceptance.finished_twice(case)),
        repeated_paid_calls=sum(not recovered.is_needed for recovered in repeats),
        repeated_in_flight=sum(recovered.is_needed for recovered in repeats),
        recoveries=tuple(recovered.own_seconds or 0.0 for recovered in came_back),
        recoveries_alone=tuple(
            recovered.own_seconds or 0.0 for recovered in came_back if recovered.alone
        ),
        retried=sum(entry.granted for entry in case.all(Retried)),
    )


def _violations(case: ChaosCase) -> Iterator[Violation]:
    for rule, checks in CHECKS.items():
        for one_check in checks:
            yield from (Violation(rule, job_id, text) for job_id, text in one_check(case))
