"""Budgets: what a job may spend in all, and the jobs of an API key and of a tenant in a day:
what is asked and answered (see jobs.store.spending).

Before each model call, the most that it can cost is reserved; a call that exceeds the budget is not
made. After it, the reservation is replaced by what was really spent, in the same step that posts
the charge. A reservation that is never settled (the worker was killed, the connection cut) counts
as spent. So the sum of what was paid and what may still come is within the cap at every moment.

Money is counted in whole billionths of a US dollar, rounded up.

Why: docs/decisions/0014-budgets-are-accounts.md
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Literal

from jobs.model.credentials import Credential, TenantLimits

PER_DOLLAR = 1_000_000_000
DAY_MS = 24 * 3600 * 1000
DAYS_KEPT = 3
"""How long a key's account of a day is kept: longer than any call may take to be settled."""

AccountOwner = Literal["job", "key", "tenant"]
Unit = Literal["cost", "tokens"]


def billionths(dollars: str | Decimal) -> int:
    """US dollars as Redis counts them, rounded up."""
    return int((Decimal(dollars) * PER_DOLLAR).to_integral_value(ROUND_CEILING))


def format_dollars(amount: int) -> str:
    """Billionths as a decimal string."""
    return f"{(Decimal(amount) / PER_DOLLAR).normalize():f}"


@dataclass(frozen=True, slots=True)
class Amount:
    """Money in billionths of a dollar, and tokens."""

    cost: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Spent:
    """What a call came to; None: nobody knows."""

    cost: int | None
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that may be spent; None: no bound."""

    cost: int | None = None
    tokens: int | None = None

    @property
    def is_bounded(self) -> bool:
        """Whether it bounds anything."""
        return self.cost is not None or self.tokens is not None


def make_cap(dollars: Decimal | str | None, tokens: int | None) -> Cap:
    """The limits in US dollars and tokens; None: no bound."""
    return Cap(None if dollars is None else billionths(dollars), tokens)


def day_limit(limits: Credential | TenantLimits | None, default: Cap) -> Cap:
    """The limits of a key's or a tenant's day: its own, where it has them."""
    if limits is None:
        return default
    dollars, tokens = limits.max_cost_usd_per_day, limits.max_tokens_per_day
    return Cap(
        default.cost if dollars is None else billionths(dollars),
        default.tokens if tokens is None else tokens,
    )


@dataclass(frozen=True, slots=True)
class DayAccount:
    """An account of a day: of a key by its id, or of a tenant by its name."""

    owner: AccountOwner
    name: str
    cap: Cap


@dataclass(frozen=True, slots=True)
class ReservationRequest:
    """A call that wants to be made: `most` is what it can cost, `id` names the reservation.

    `key_id` and `tenant` are whose day it counts for, within `day` and `tenant_day`; '' counts for
    none.
    """

    id: str
    most: Amount
    job: Cap = Cap()
    key_id: str = ""
    day: Cap = Cap()
    tenant: str = ""
    tenant_day: Cap = Cap()

    @property
    def days(self) -> tuple[DayAccount, ...]:
        """The accounts of a day that it counts for."""
        both = (
            DayAccount("key", self.key_id, self.day),
            DayAccount("tenant", self.tenant, self.tenant_day),
        )
        return tuple(day for day in both if day.name)

    def cap_of(self, owner: str) -> Cap:
        """The limit of one of its accounts."""
        return next((day.cap for day in self.days if day.owner == owner), self.job)

    def shortfall(
        self, owner: AccountOwner, unit: Unit, used: int, reserved: int
    ) -> BudgetShortfall:
        """The refusal of this request by one of its accounts."""
        cap = self.cap_of(owner)
        if unit == "cost":
            return BudgetShortfall(owner, unit, cap.cost or 0, used, self.most.cost, reserved)
        return BudgetShortfall(owner, unit, cap.tokens or 0, used, self.most.tokens, reserved)


@dataclass(frozen=True, slots=True)
class BudgetShortfall:
    """Why a call may not be made: of `cap`, `used` is spent or reserved; the call needs `asked`.

    `open` is the part of `used` that is reserved and not settled: some of it may be released.
    """

    owner: AccountOwner
    unit: Unit
    cap: int
    used: int
    requested: int
    reserved: int = 0

    @property
    def may_fit_later(self) -> bool:
        """Whether the call may fit once open reservations are settled."""
        return self.used - self.reserved + self.requested <= self.cap
