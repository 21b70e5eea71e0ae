"""Spending: from settings and a job to what may be spent, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from agents.models import OwnPrice, Prices
from jobs.budgets import Cap, billionths
from jobs.record import JobRecord
from jobs.store.credentials import Credentials
from jobs.store.redis import RedisStore
from settings.worker import WorkerSettings
from worker.day_limits import DayLimits
from worker.ledger import Ledger
from worker.ports.budget import AccountBudget


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
    return Prices({model: OwnPrice(*three) for model, three in settings.own_prices().items()})


def _cost(dollars: Decimal | None) -> int | None:
    return None if dollars is None else billionths(dollars)


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)
