"""Budgets of attempts, over accounts in Redis: limits of the operator, of keys and of tenants."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

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
    make_cap,
)
from jobs.model.record import JobRecord
from jobs.store.credentials import Credentials
from jobs.store.redis_store import RedisStore
from settings.worker import WorkerSettings
from worker.ledger import Ledger
from worker.store import Patience

WAIT_SECONDS = 30.0
AGAIN_SECONDS = 0.5
MOST_TOKENS = 2_000_000
"""The limit of a job without any other limit, by the attempt's count: it needs no round trip."""

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


_SPENDERS = {
    "job": "the job may",
    "key": "the jobs of its API key may today",
    "tenant": "the jobs of its tenant may today",
}


@dataclass(frozen=True, slots=True)
class AccountBudget:
    """Implements the port Budget. If there is no limit, it sends no request to the store."""

    store: RedisStore
    ledger: Ledger
    cap: Cap
    key_id: str
    tenant: str
    days: CachedDayLimits

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
            raise PriceUnknown(_no_price_text(call.model))
        request = ReservationRequest(
            secrets.token_hex(8),
            Amount(billionths(call.cost_usd or "0"), call.tokens),
            self.cap,
            key_id=self.key_id if key.is_bounded else "",
            day=key,
            tenant=self.tenant if tenant.is_bounded else "",
            tenant_day=tenant,
        )
        if (shortfall := await self._reserve(request)) is not None:
            raise BudgetExhausted(_shortfall_text(shortfall, call.model, self.ledger.unreported))
        return request.id

    async def _reserve(self, request: ReservationRequest) -> BudgetShortfall | None:
        """Reserve the amount; return the shortfall if the budget is exhausted. If only open
        reservations exceed it, wait until they are settled: otherwise jobs of a key or a tenant
        would fail long before its limit.
        """
        budgets, writer = self.store.budgets, self.ledger.writer
        ends_at = time.monotonic() + WAIT_SECONDS
        while True:
            shortfall = await writer.patience.retry(
                lambda: budgets.reserve(writer.lease.job_id, writer.lease.epoch, request)
            )
            if shortfall is None or shortfall.owner == "job" or not shortfall.may_fit_later:
                return shortfall
            if time.monotonic() >= ends_at:
                return shortfall
            await asyncio.sleep(AGAIN_SECONDS * (0.5 + random.random()))  # noqa: S311 - jitter

    async def release(self, reservation: str) -> None:
        """See agents.spending.budget.Budget."""
        writer = self.ledger.writer
        await writer.patience.retry(
            lambda: self.store.budgets.release(writer.lease.job_id, reservation)
        )


def _no_price_text(model: str) -> str:
    return (
        f"no price is known for {model}, and what may be spent is limited in US dollars: "
        f"set FETTLE_PRICES to {model}=INPUT/OUTPUT (dollars for a million tokens), "
        "or name a model with a known price"
    )


def _shortfall_text(shortfall: BudgetShortfall, model: str, unreported: int) -> str:
    def amount(value: int) -> str:
        return f"${format_dollars(value)}" if shortfall.unit == "cost" else f"{value:,} tokens"

    requested = amount(shortfall.requested)
    return (
        f"{_SPENDERS[shortfall.owner]} spend {amount(shortfall.cap)}; {amount(shortfall.used)} are "
        f"spent or set aside{_unreported_note(unreported)}, and the next call of {model} can take "
        f"{requested}: "
        f"{_ADVICE[shortfall.owner, shortfall.unit]}"
    )


def _unreported_note(unreported: int) -> str:
    """A note about calls without reported usage: their whole reservation counts."""
    if not unreported:
        return ""
    return f" ({unreported} calls without reported usage count with the most that they can cost)"


@dataclass(frozen=True, slots=True)
class Spending:
    """The limits and the prices of one process."""

    cap: Cap
    """The operator's limit for each job."""
    days: CachedDayLimits
    """The limits of keys and tenants for a day."""
    prices: Prices

    @classmethod
    def from_settings(
        cls, settings: WorkerSettings, credentials: Credentials, patience: Patience
    ) -> Spending:
        """The limits and prices of the settings."""
        cap = make_cap(settings.max_job_cost_usd, settings.max_job_tokens)
        key = make_cap(settings.key_cost_usd_per_day, settings.key_tokens_per_day)
        tenant = make_cap(settings.tenant_cost_usd_per_day, settings.tenant_tokens_per_day)
        return cls(cap, CachedDayLimits(credentials, patience, key, tenant), prices(settings))

    def budget(self, record: JobRecord, store: RedisStore, ledger: Ledger) -> AccountBudget:
        """The budget of one attempt."""
        job_cap = make_cap(record.spec.max_cost_usd, record.spec.max_tokens)
        cap = Cap(_least(job_cap.cost, self.cap.cost), _least(job_cap.tokens, self.cap.tokens))
        return AccountBudget(store, ledger, cap, record.key_id, record.tenant, self.days)


def prices(settings: WorkerSettings) -> Prices:
    """The operator's prices, and the built-in list for other models."""
    return Prices({model: OperatorPrice(*row) for model, row in settings.operator_prices().items()})


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)


FRESH_SECONDS = 5.0


class CachedDayLimits:
    """The limits of keys and tenants for a day. `key` and `tenant` are the limits for keys and
    tenants without limits of their own.

    Every model call needs these limits, so they are cached for FRESH_SECONDS: without limits, a
    call costs no round trip.
    """

    def __init__(self, credentials: Credentials, patience: Patience, key: Cap, tenant: Cap) -> None:
        self._credentials = credentials
        self._patience = patience
        self._key = key
        self._tenant = tenant
        self._cached: dict[str, tuple[Cap, float]] = {}

    async def of_key(self, key_id: str) -> Cap:
        """The limits of a key; a job without a key has no limits. Raises StoreUnavailable."""
        if not key_id:
            return Cap()

        async def read() -> Cap:  # the configured key has no record
            return day_limit(await self._credentials.get(key_id), self._key)

        return await self._read_cached(f"key:{key_id}", read)

    async def of_tenant(self, name: str) -> Cap:
        """The limits of a tenant. Raises StoreUnavailable."""

        async def read() -> Cap:
            return day_limit(await self._credentials.tenant(name), self._tenant)

        return await self._read_cached(f"tenant:{name}", read)

    async def _read_cached(self, name: str, read: Callable[[], Awaitable[Cap]]) -> Cap:
        now = time.monotonic()
        cap, until = self._cached.get(name, (Cap(), 0.0))
        if now < until:
            return cap
        cap = await self._patience.retry(read)
        self._cached = {key: entry for key, entry in self._cached.items() if entry[1] > now}
        self._cached[name] = (cap, now + FRESH_SECONDS)
        return cap
