"""AccountBudget: what a job, its key and its tenant may spend, over all attempts and workers."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from agents.budget import Most
from agents.errors import BudgetExhausted, PriceUnknown
from jobs.budgets import Amount, Asking, Cap, Short, billionths, in_dollars
from jobs.store.redis import RedisStore
from worker.day_limits import DayLimits
from worker.ledger import Ledger
from worker.patience import patient

WAIT_SECONDS = 30.0
AGAIN_SECONDS = 0.5
MOST_TOKENS = 2_000_000
"""Where nothing else bounds a job; by the attempt's own count, which costs no round trip."""

_OF_A_KEY = "wait for the next day (UTC), or have the operator raise it: `fettle keys limit`"
_OF_A_TENANT = "wait for the next day (UTC), or have the operator raise it: `fettle tenants limit`"
_ADVICE = {
    ("job", "cost"): "raise its max_cost_usd, or FETTLE_MAX_JOB_COST_USD",
    ("job", "tokens"): "raise its max_tokens, or FETTLE_MAX_JOB_TOKENS",
    ("key", "cost"): _OF_A_KEY,
    ("key", "tokens"): _OF_A_KEY,
    ("tenant", "cost"): _OF_A_TENANT,
    ("tenant", "tokens"): _OF_A_TENANT,
}


_WHOSE = {
    "job": "the job may",
    "key": "the jobs of its API key may today",
    "tenant": "the jobs of its tenant may today",
}


@dataclass(frozen=True, slots=True)
class AccountBudget:
    """Implements the port Budget. Where nothing is limited, the store is not asked."""

    store: RedisStore
    ledger: Ledger
    cap: Cap
    key_id: str
    tenant: str
    days: DayLimits

    async def reserve(self, most: Callable[[], Most]) -> str | None:
        """See agents.budget.Budget."""
        if self.ledger.tokens >= MOST_TOKENS and self.cap.tokens is None:
            raise BudgetExhausted(
                f"the job has used {self.ledger.tokens:,} tokens, and without a limit of its own "
                f"it may use {MOST_TOKENS:,}: give it max_tokens, or set FETTLE_MAX_JOB_TOKENS"
            )
        key, tenant = await self.days.of_key(self.key_id), await self.days.of_tenant(self.tenant)
        caps = (self.cap, key, tenant)
        if not any(cap.bounds for cap in caps):
            return None
        call = most()
        if call.cost_usd is None and any(cap.cost is not None for cap in caps):
            raise PriceUnknown(_unknown(call.model))
        asking = Asking(
            secrets.token_hex(8),
            Amount(billionths(call.cost_usd or "0"), call.tokens),
            self.cap,
            key_id=self.key_id if key.bounds else "",
            day=key,
            tenant=self.tenant if tenant.bounds else "",
            tenant_day=tenant,
        )
        if (short := await self._granted(asking)) is not None:
            raise BudgetExhausted(_said(short, call.model))
        return asking.id

    async def _granted(self, asking: Asking) -> Short | None:
        """Where only calls under way leave no room, wait for what they do not use: the jobs of a
        key or a tenant would fail one another long before its limit.
        """
        budgets, held = self.store.budgets, self.ledger.held
        ends = time.monotonic() + WAIT_SECONDS
        while True:
            short = await patient(lambda: budgets.reserve(held.job_id, held.epoch, asking))
            if short is None or short.whose == "job" or not short.may_pass:
                return short
            if time.monotonic() >= ends:
                return short
            await asyncio.sleep(AGAIN_SECONDS * (0.5 + random.random()))  # noqa: S311 - jitter

    async def release(self, reservation: str) -> None:
        """See agents.budget.Budget."""
        job_id = self.ledger.held.job_id
        await patient(lambda: self.store.budgets.release(job_id, reservation))


def _unknown(model: str) -> str:
    return (
        f"no price is known for {model}, and what may be spent is limited in US dollars: "
        f"set FETTLE_PRICES to {model}=INPUT/OUTPUT (dollars for a million tokens), "
        "or name a model with a known price"
    )


def _said(short: Short, model: str) -> str:
    def amount(value: int) -> str:
        return f"${in_dollars(value)}" if short.what == "cost" else f"{value:,} tokens"

    return (
        f"{_WHOSE[short.whose]} spend {amount(short.cap)}; {amount(short.used)} are spent or set "
        f"aside, and the next call of {model} can take {amount(short.asked)}: "
        f"{_ADVICE[short.whose, short.what]}"
    )
