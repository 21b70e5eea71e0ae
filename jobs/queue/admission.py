"""Admission: whether another job can be accepted. Pure.

Only new jobs are refused, early enough that accepted ones can end: a Redis at its `maxmemory` takes
no results of their attempts.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs.budgets import Amount, Cap, format_dollars
from jobs.transitions.lifecycle import Refusal

STORE_FULL = "store_full"
QUEUE_FULL = "queue_full"
BUDGET_TAKEN = "budget_taken"


@dataclass(frozen=True, slots=True)
class SystemLoad:
    """Redis' memory in bytes (`most_bytes` 0: no limit is known), and the jobs of one tenant that
    wait for a worker; those that wait for another job of their conversation are left out.
    """

    used_bytes: int
    max_bytes: int
    queued: int


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """What an operator allows: the part of Redis' memory in use, and a tenant's waiting jobs."""

    memory_ratio: float = 0.85
    queued: int = 10_000


def check_load(load: SystemLoad, limits: AdmissionLimits) -> Refusal | None:
    """Why no job can be accepted now, or None."""
    if load.max_bytes and load.used_bytes >= load.max_bytes * limits.memory_ratio:
        percentage = 100 * load.used_bytes / load.max_bytes
        return Refusal(STORE_FULL, f"the job record's memory is {percentage:.0f} % full")
    if load.queued >= limits.queued:
        return Refusal(QUEUE_FULL, f"{load.queued} jobs of your tenant wait already")
    return None


@dataclass(frozen=True, slots=True)
class KeyDay:
    """A key's day: its limit, what is paid, its jobs that are queued or running, and what one of
    them costs on average (0: not known)."""

    cap: Cap
    paid: Amount
    unfinished: int
    average: Amount


def check_budget(day: KeyDay, job_cap: Cap) -> Refusal | None:
    """Why another job of the key, which may spend `most`, would not be finished today, or None.

    A budget should finish jobs, not begin many. The first job of a day is never refused: it may
    cost less than others did, and each call is checked in any case.
    """
    for what in ("cost", "tokens"):
        cap, paid = getattr(day.cap, what), getattr(day.paid, what)
        average, own = getattr(day.average, what), getattr(job_cap, what)
        expected = average if own is None else min(average or own, own)
        others = day.unfinished * average
        if cap is None or not expected or not (paid or day.unfinished):
            continue
        if paid + others + expected > cap:
            shown = [_format_amount(what, amount) for amount in (cap, paid, others, expected)]
            return Refusal(BUDGET_TAKEN, _explain(*shown, unfinished=day.unfinished))
    return None


def _explain(cap: str, paid: str, others: str, expected: str, *, unfinished: int) -> str:
    return (
        f"the jobs of this API key may spend {cap} today: {paid} are spent, {unfinished} "
        f"unfinished jobs are expected to take {others}, and this one {expected} (by the average "
        "of the last days), so it might not be finished. Submit it when others have ended, or "
        "after midnight UTC, or have the operator raise the limit: `fettle keys limit`"
    )


def _format_amount(unit: str, amount: int) -> str:
    return f"${format_dollars(amount)}" if unit == "cost" else f"{amount:,} tokens"
