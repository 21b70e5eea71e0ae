"""Charges of one process: what was paid for each job, once per call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from jobs.memory_budgets import MemoryBudgets
from jobs.store import Charge


class MemoryCharges:
    """Posts what was paid, and settles what was set aside for it."""

    def __init__(self, budgets: MemoryBudgets) -> None:
        self._budgets = budgets
        self._posted: dict[str, dict[str, Charge]] = defaultdict(dict)

    def post(self, job_id: str, charges: Iterable[Charge]) -> Sequence[Charge]:
        """Those that are new: a known call is not posted again."""
        posted, new = self._posted[job_id], []
        for charge in charges:
            if charge.call not in posted:
                posted[charge.call] = replace(charge, reservation=None)
                new.append(charge)
            if charge.reservation is not None:
                self._budgets.settle(job_id, charge.reservation, charge.spent)
        return new

    def of(self, job_id: str) -> Sequence[Charge]:
        """Everything that was paid for a job."""
        return list(self._posted[job_id].values())

    def forget(self, job_id: str) -> None:
        """The job is removed."""
        self._posted.pop(job_id, None)
        self._budgets.forget(job_id)
