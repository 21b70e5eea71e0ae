"""Admission: whether another job can be accepted. Pure.

Only new jobs are refused, early enough that accepted ones can end: a Redis at its `maxmemory` takes
no results of their attempts.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs.transitions.lifecycle import Refusal

STORE_FULL = "store_full"
QUEUE_FULL = "queue_full"


@dataclass(frozen=True, slots=True)
class SystemLoad:
    """Redis' memory in bytes (`most_bytes` 0: no limit is known), and the jobs of one tenant that
    wait for a worker; those that wait for another job of their conversation are left out.
    """

    used_bytes: int
    most_bytes: int
    queued: int


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """What an operator allows: the part of Redis' memory in use, and a tenant's waiting jobs."""

    memory_ratio: float = 0.85
    queued: int = 10_000


def refusal(load: SystemLoad, limits: AdmissionLimits) -> Refusal | None:
    """Why no job can be accepted now, or None."""
    if load.most_bytes and load.used_bytes >= load.most_bytes * limits.memory_ratio:
        part = 100 * load.used_bytes / load.most_bytes
        return Refusal(STORE_FULL, f"the job record's memory is {part:.0f} % full")
    if load.queued >= limits.queued:
        return Refusal(QUEUE_FULL, f"{load.queued} jobs of your tenant wait already")
    return None
