"""Budgets of attempts over accounts in Redis: what the operator, keys and tenants may spend."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal

from agents.errors import BudgetExhausted, PriceUnknown
from agents.ports.spending import MaxSpend
from agents.spending.pricing import OperatorPrice, Prices
from jobs.budgets import (
    Amount,
    BudgetShortfall,
    Cap,
    ReservationRequest,
    billionths,
    day_limit,
    format_dollars,
)
from jobs.model.record import JobRecord
from jobs.store.credentials import Credentials
from jobs.store.redis_store import RedisStore
from settings.worker import WorkerSettings
from worker.ledger import Ledger
from worker.store import retry_while_unavailable

WAIT_SECONDS = 30.0
AGAIN_SECONDS = 0.5
MOST_TOKENS = 2_000_000
"""Where nothing else bounds a job; by the attempt's own count, which costs no round trip."""

_OF_A_KEY = "wait for the next day (UTC), or have the operator raise it: `fettle keys limit`"
_OF_A_TENANT = "wait for the next day (UTC), or have the operator raise it: `fettle tenants limit`"
_ADVICE = {
    ("job", "cost"): "retry it with a larger max_cost_usd, or have FETTLE_MAX_JOB_COST_USD raised",
    ("job", "tokens"): "retry it with a larger max_tokens, or have FETTLE_MAX_JOB_TOKENS raised",
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

    async def reserve(self, most: Callable[[], MaxSpend]) -> str | None:
        """See agents.spending.budget.Budget."""
        if self.ledger.tokens >= MOST_TOKENS and self.cap.tokens is None:
            raise BudgetExhausted(
                f"the job has used {self.ledger.tokens:,} tokens, and without a limit of its own "
                f"it may use {MOST_TOKENS:,}: give it max_tokens, or set FETTLE_MAX_JOB_TOKENS"
            )
        key, tenant = await self.days.of_key(self.key_id), await self.days.of_tenant(self.tenant)
        caps = (self.cap, key, tenant)
        if not any(cap.is_bounded for cap in caps):
            return None
        call = most()
        if call.cost_usd is None and any(cap.cost is not None for cap in caps):
            raise PriceUnknown(_unknown(call.model))
        asking = ReservationRequest(
            secrets.token_hex(8),
            Amount(billionths(call.cost_usd or "0"), call.tokens),
            self.cap,
            key_id=self.key_id if key.is_bounded else "",
            day=key,
            tenant=self.tenant if tenant.is_bounded else "",
            tenant_day=tenant,
        )
        if (short := await self._granted(asking)) is not None:
            raise BudgetExhausted(_said(short, call.model, self.ledger.unreported))
        return asking.id

    async def _granted(self, asking: ReservationRequest) -> BudgetShortfall | None:
        """Where only open reservations exceed the budget, wait until they are settled: otherwise
        the jobs of a key or a tenant would fail one another long before its limit.
        """
        budgets, lease = self.store.budgets, self.ledger.writer.lease
        ends = time.monotonic() + WAIT_SECONDS
        while True:
            short = await retry_while_unavailable(
                lambda: budgets.reserve(lease.job_id, lease.epoch, asking)
            )
            if short is None or short.owner == "job" or not short.may_fit_later:
                return short
            if time.monotonic() >= ends:
                return short
            await asyncio.sleep(AGAIN_SECONDS * (0.5 + random.random()))  # noqa: S311 - jitter

    async def release(self, reservation: str) -> None:
        """See agents.spending.budget.Budget."""
        job_id = self.ledger.writer.lease.job_id
        await retry_while_unavailable(lambda: self.store.budgets.release(job_id, reservation))


def _unknown(model: str) -> str:
    return (
        f"no price is known for {model}, and what may be spent is limited in US dollars: "
        f"set FETTLE_PRICES to {model}=INPUT/OUTPUT (dollars for a million tokens), "
        "or name a model with a known price"
    )


def _said(short: BudgetShortfall, model: str, unreported: int) -> str:
    def amount(value: int) -> str:
        return f"${format_dollars(value)}" if short.unit == "cost" else f"{value:,} tokens"

    requested = amount(short.requested)
    return (
        f"{_WHOSE[short.owner]} spend {amount(short.cap)}; {amount(short.used)} are spent or set "
        f"aside{_noted(unreported)}, and the next call of {model} can take {requested}: "
        f"{_ADVICE[short.owner, short.unit]}"
    )


def _noted(unreported: int) -> str:
    """That calls whose usage is not known count with all that was reserved for them."""
    if not unreported:
        return ""
    return f" ({unreported} calls without reported usage count with the most that they can cost)"


@dataclass(frozen=True, slots=True)
class Spending:
    """Of one process: what the operator allows any job, what keys and tenants may spend on a day,
    and prices."""

    cap: Cap
    days: DayLimits
    prices: Prices

    @classmethod
    def allowed(cls, settings: WorkerSettings, credentials: Credentials) -> Spending:
        """As the settings say."""
        cap = Cap(_cost(settings.max_job_cost_usd), settings.max_job_tokens)
        key = Cap(_cost(settings.key_cost_usd_per_day), settings.key_tokens_per_day)
        tenant = Cap(_cost(settings.tenant_cost_usd_per_day), settings.tenant_tokens_per_day)
        return cls(cap, DayLimits(credentials, key, tenant), prices(settings))

    def budget(self, record: JobRecord, store: RedisStore, ledger: Ledger) -> AccountBudget:
        """The budget of one attempt."""
        asked = record.spec
        cost = None if asked.max_cost_usd is None else billionths(asked.max_cost_usd)
        cap = Cap(_least(cost, self.cap.cost), _least(asked.max_tokens, self.cap.tokens))
        return AccountBudget(store, ledger, cap, record.key_id, record.tenant, self.days)


def prices(settings: WorkerSettings) -> Prices:
    """The operator's own, and the list behind them."""
    return Prices(
        {model: OperatorPrice(*three) for model, three in settings.operator_prices().items()}
    )


def _cost(dollars: Decimal | None) -> int | None:
    return None if dollars is None else billionths(dollars)


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


FRESH_SECONDS = 5.0


class DayLimits:
    """Of one process. `key` and `tenant` hold for those that have no limit of their own.

    Every model call of every job asks, so an answer holds for a few seconds: where nothing is
    limited, no call costs a round trip.
    """

    def __init__(self, credentials: Credentials, key: Cap, tenant: Cap) -> None:
        self._credentials = credentials
        self._key = key
        self._tenant = tenant
        self._known: dict[str, tuple[Cap, float]] = {}

    async def of_key(self, key_id: str) -> Cap:
        """The limits of a key; a job that no key has brought has none. Raises StoreUnavailable."""
        if not key_id:
            return Cap()

        async def read() -> Cap:  # the configured key is on no record
            return day_limit(await self._credentials.get(key_id), self._key)

        return await self._fresh(f"key:{key_id}", read)

    async def of_tenant(self, name: str) -> Cap:
        """The limits of a tenant. Raises StoreUnavailable."""

        async def read() -> Cap:
            return day_limit(await self._credentials.tenant(name), self._tenant)

        return await self._fresh(f"tenant:{name}", read)

    async def _fresh(self, name: str, read: Callable[[], Awaitable[Cap]]) -> Cap:
        now = time.monotonic()
        cap, until = self._known.get(name, (Cap(), 0.0))
        if now < until:
            return cap
        cap = await retry_while_unavailable(read)
        self._known = {each: known for each, known in self._known.items() if known[1] > now}
        self._known[name] = (cap, now + FRESH_SECONDS)
        return cap
