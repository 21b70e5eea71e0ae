"""Admission: whether a new job can be accepted. Pure.

Only new jobs are refused, early enough that accepted jobs can end: a Redis at its `maxmemory` takes
no results of their attempts.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs.budgets import Amount, Cap, Unit, format_dollars
from jobs.transitions.lifecycle import Refusal

STORE_FULL = "store_full"
QUEUE_FULL = "queue_full"
BUDGET_TAKEN = "budget_taken"


@dataclass(frozen=True, slots=True)
class SystemLoad:
    """The fill level of Redis and of a tenant's queue."""

    used_bytes: int
    """Redis' memory in use."""
    max_bytes: int
    """Redis' memory limit. 0: unknown."""
    queued: int
    """The tenant's jobs that wait for a worker, without jobs that wait for another job of their
    conversation."""


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """The operator's limits."""

    memory_ratio: float = 0.85
    """The part of Redis' memory that may be in use."""
    queued: int = 10_000
    """The jobs of a tenant that may wait."""


def check_load(load: SystemLoad, limits: AdmissionLimits) -> Refusal | None:
    """The refusal of a new job because the system is full; None: accept it."""
    if load.max_bytes and load.used_bytes >= load.max_bytes * limits.memory_ratio:
        percentage = 100 * load.used_bytes / load.max_bytes
        return Refusal(STORE_FULL, f"the job record's memory is {percentage:.0f} % full")
    if load.queued >= limits.queued:
        return Refusal(QUEUE_FULL, f"{load.queued} jobs of your tenant wait already")
    return None


@dataclass(frozen=True, slots=True)
class KeyDay:
    """The spending of a key's jobs on a day."""

    cap: Cap
    """The key's limit."""
    paid: Amount
    """The amount spent so far."""
    unfinished: int
    """The number of its jobs that are queued or running."""
    average: Amount
    """The average cost of a job. 0: unknown."""


def check_budget(day: KeyDay, job_cap: Cap) -> Refusal | None:
    """The refusal of another job of the key, which may spend `job_cap`, because it would not be
    finished today; None: accept it.

    A budget should finish jobs, not begin many. The first job of a day is never refused: it may
    cost less than the average, and each call is checked.
    """
    units: tuple[Unit, ...] = ("cost", "tokens")
    for unit in units:
        cap, paid = day.cap.of(unit), day.paid.of(unit)
        average, job_bound = day.average.of(unit), job_cap.of(unit)
        expected = average if job_bound is None else min(average or job_bound, job_bound)
        unfinished = day.unfinished * average
        if cap is None or not expected or not (paid or day.unfinished):
            continue
        if paid + unfinished + expected > cap:
            amounts = [_format(unit, amount) for amount in (cap, paid, unfinished, expected)]
            return Refusal(BUDGET_TAKEN, _explain(*amounts, unfinished_jobs=day.unfinished))
    return None


def _explain(cap: str, paid: str, unfinished: str, expected: str, *, unfinished_jobs: int) -> str:
    return (
        f"the jobs of this API key may spend {cap} today: {paid} are spent, {unfinished_jobs} "
        f"unfinished jobs are expected to take {unfinished}, and this job {expected} (by the "
        "average of the last days), so it might not be finished. Submit it when other jobs have "
        "ended, or after midnight UTC, or ask the operator to raise the limit: `fettle keys limit`"
    )


def _format(unit: Unit, amount: int) -> str:
    return f"${format_dollars(amount)}" if unit == "cost" else f"{amount:,} tokens"
