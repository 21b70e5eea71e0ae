"""Admission: whether a new job is accepted now. A tenant's load is read once a second, what its
jobs cost on average once a minute.

Why: docs/decisions/0053-outages-rest-a-job.md
"""

from __future__ import annotations

import time

from api import problems
from api.problems import Refused
from jobs.budgets import DAY_MS, Amount, Cap, limit_of
from jobs.counting import average, day_of
from jobs.model.credentials import Credential
from jobs.queue import admission
from jobs.queue.admission import AdmissionLimits, SystemLoad
from jobs.store.redis_store import RedisStore
from jobs.transitions.lifecycle import Refusal

FRESH_SECONDS = 1.0
MOST_TENANTS = 1_000
AVERAGE_SECONDS, AVERAGE_DAYS = 60.0, 7
WAITS = {admission.QUEUE_FULL: "5", admission.STORE_FULL: "30", admission.BUDGET_TAKEN: "60"}
"""Retry-After: a queue moves within seconds, memory is freed by retention or by an operator."""
KINDS = {
    admission.QUEUE_FULL: problems.QUEUE_FULL,
    admission.STORE_FULL: problems.STORE_FULL,
    admission.BUDGET_TAKEN: problems.BUDGET_TAKEN,
}


class Admission:
    """Admission control of one API process."""

    def __init__(self, store: RedisStore, limits: AdmissionLimits, day: Cap = Cap()) -> None:  # noqa: B008 - frozen
        """`day` is the daily limit of a key without one of its own."""
        self._store = store
        self._limits = limits
        self._day = day
        self._averages: dict[str, tuple[float, Amount]] = {}
        self._read: dict[str, tuple[float, SystemLoad]] = {}

    async def check(self, tenant: str) -> None:
        """Raise Refused (429 or 503, with Retry-After) where the service takes no further job."""
        now = time.monotonic()
        read_at, load = self._read.get(tenant, (0.0, None))
        if load is None or now - read_at > FRESH_SECONDS:
            load = await self._store.load_now(tenant)
            if len(self._read) >= MOST_TENANTS:
                self._read.clear()
            self._read[tenant] = (now, load)
        _raise(admission.refusal(load, self._limits))

    async def check_budget(self, caller: Credential, most: Cap) -> None:
        """Raise Refused (429) where a job that may spend `most` is not expected to be finished
        within the caller's daily budget."""
        cap = limit_of(caller, self._day)
        if cap.bounds:
            paid, unfinished = await self._store.budgets.day_of_key(caller.id)
            average = await self._average(caller.tenant)
            day = admission.KeyDay(cap, paid, unfinished, average)
            _raise(admission.over_budget(day, most))

    async def _average(self, tenant: str) -> Amount:
        now = time.monotonic()
        read_at, known = self._averages.get(tenant, (0.0, None))
        if known is None or now - read_at > AVERAGE_SECONDS:
            today = await self._store.now()
            days = [day_of(today - DAY_MS * back) for back in range(AVERAGE_DAYS)]
            known = Amount(*average(await self._store.day_counts.days(tenant, days)))
            if len(self._averages) >= MOST_TENANTS:
                self._averages.clear()
            if known != Amount():  # the first job to end counts at once
                self._averages[tenant] = (now, known)
        return known


def _raise(refusal: Refusal | None) -> None:
    if refusal is not None:
        headers = {"Retry-After": WAITS[refusal.code]}
        raise Refused(KINDS[refusal.code], refusal.detail, headers=headers)
