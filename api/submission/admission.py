"""Admission: whether the service accepts a new job now.

See ADR 53.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from api import problems
from api.http.field_errors import refuse
from api.problems import RefusedRequest
from api.schemas.job_request import Terms
from api.schemas.problem import FieldError
from jobs.budgets import DAY_MS, Amount, Cap, day_limit
from jobs.counting import average_cost, day_of
from jobs.model.credentials import Credential
from jobs.queue import admission
from jobs.queue.admission import AdmissionLimits, SystemLoad
from jobs.store.redis_store import RedisStore
from jobs.transitions.lifecycle import Refusal

LOAD_SECONDS = 1.0
"""How long the load of a tenant is remembered."""
AVERAGE_SECONDS = 60.0
"""How long the average cost of a tenant's jobs is remembered."""
AVERAGE_DAYS = 7
MAX_TENANTS = 1_000
RETRY_SECONDS = {
    admission.QUEUE_FULL: "5",
    admission.STORE_FULL: "30",
    admission.BUDGET_TAKEN: "60",
}
"""Retry-After: a queue moves within seconds; retention or an operator frees memory."""
PROBLEMS = {
    admission.QUEUE_FULL: problems.QUEUE_FULL,
    admission.STORE_FULL: problems.STORE_FULL,
    admission.BUDGET_TAKEN: problems.BUDGET_TAKEN,
}
RECORDING = "recording:"


class Admission:
    """Admission control of one API process."""

    def __init__(
        self,
        store: RedisStore,
        limits: AdmissionLimits,
        day_limit: Cap = Cap(),  # noqa: B008 - frozen
    ) -> None:
        """`day_limit` is the daily limit of keys that have no limit of their own."""
        self._store = store
        self._limits = limits
        self._day_limit = day_limit
        self._averages: dict[str, tuple[float, Amount]] = {}
        self._loads: dict[str, tuple[float, SystemLoad]] = {}
        self._turn = asyncio.Lock()

    async def check(self, tenant: str) -> None:
        """Raise RefusedRequest (429 or 503, with Retry-After) if the service accepts no further
        job."""
        async with self._turn:
            now = time.monotonic()
            read_at, load = self._loads.get(tenant, (0.0, None))
            if load is None or now - read_at > LOAD_SECONDS:
                load, read_at = await self._store.system_load(tenant), now
                if len(self._loads) >= MAX_TENANTS:
                    self._loads.clear()
            refusal = admission.check_load(load, self._limits)
            if refusal is None:  # with this job, so that a batch stays within the limit
                load = replace(load, queued=load.queued + 1)
            self._loads[tenant] = (read_at, load)
        _raise(refusal)

    async def check_budget(self, caller: Credential, job_limit: Cap) -> None:
        """Raise RefusedRequest (429) if a job that may spend `job_limit` is not expected to be
        finished within the caller's daily budget."""
        limit = day_limit(caller, self._day_limit)
        if limit.is_bounded:
            paid, unfinished = await self._store.budgets.day_of_key(caller.id)
            average_cost = await self._average_cost(caller.tenant)
            day = admission.KeyDay(limit, paid, unfinished, average_cost)
            _raise(admission.check_budget(day, job_limit))

    async def _average_cost(self, tenant: str) -> Amount:
        now = time.monotonic()
        read_at, cost = self._averages.get(tenant, (0.0, None))
        if cost is None or now - read_at > AVERAGE_SECONDS:
            today = await self._store.now()
            days = [day_of(today - DAY_MS * age) for age in range(AVERAGE_DAYS)]
            cost = Amount(*average_cost(await self._store.day_counts.days(tenant, days)))
            if len(self._averages) >= MAX_TENANTS:
                self._averages.clear()
            if cost != Amount():  # the first job to end counts at once
                self._averages[tenant] = (now, cost)
        return cost


def _raise(refusal: Refusal | None) -> None:
    if refusal is not None:
        headers = {"Retry-After": RETRY_SECONDS[refusal.code]}
        raise RefusedRequest(PROBLEMS[refusal.code], refusal.detail, headers=headers)


async def check_token_limit(store: RedisStore, terms: Terms) -> None:
    """Raise RefusedRequest, a 422 with the least token limit, if no worker could finish a small job
    within the requested one. The least limit depends on the workers' settings, which they
    announce."""
    if terms.max_tokens is None:
        return
    least_tokens = [_call_tokens(worker, terms.model) for worker in await store.workers()]
    least = min(least_tokens, default=0)
    if terms.max_tokens < least:
        message = f"the calls of a small job can take {least:,} tokens: allow at least that many"
        refuse([FieldError(field="max_tokens", message=message, limit=least)])


def _call_tokens(worker: Mapping[str, Any], model: str | None) -> int:
    """The tokens that a worker reserves for the calls of a small job. A recording needs none."""
    name = model or worker.get("models", {}).get("default") or ""
    return 0 if name.startswith(RECORDING) else int(worker.get("call_tokens", 0))
