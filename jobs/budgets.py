"""Budgets: the limits for the spending of a job, and of all jobs of an API key or a tenant in a
day.

Before each model call, the highest possible cost is reserved. A call that exceeds the budget is not
made. After the call, the actual cost replaces the reservation, in the same step that posts the
charge. A reservation that is never settled (the worker was killed, the connection was cut) counts
as spent. So the sum of all charges and all possible charges never exceeds the cap.
`jobs.store.spending` keeps the accounts.

Money is counted in billionths of a US dollar, rounded up.

See ADR 14.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Literal

from jobs.model.credentials import Credential, TenantLimits

PER_DOLLAR = 1_000_000_000
DAY_MS = 24 * 3600 * 1000
DAYS_KEPT = 3
"""How many days the account of a day is kept: longer than any call may take to be settled."""

AccountOwner = Literal["job", "key", "tenant"]
Unit = Literal["cost", "tokens"]


def billionths(dollars: str | Decimal) -> int:
    """US dollars in billionths, rounded up."""
    return int((Decimal(dollars) * PER_DOLLAR).to_integral_value(ROUND_CEILING))


def format_dollars(amount: int) -> str:
    """Billionths as a decimal string in US dollars."""
    return f"{(Decimal(amount) / PER_DOLLAR).normalize():f}"


@dataclass(frozen=True, slots=True)
class Amount:
    """Money in billionths of a dollar, and tokens."""

    cost: int = 0
    tokens: int = 0

    def of(self, unit: Unit) -> int:
        """The amount in one unit."""
        return self.cost if unit == "cost" else self.tokens


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of a call. None: unknown."""

    cost: int | None
    tokens: int | None


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that may be spent. None: no bound."""

    cost: int | None = None
    tokens: int | None = None

    def of(self, unit: Unit) -> int | None:
        """The bound in one unit."""
        return self.cost if unit == "cost" else self.tokens

    @property
    def is_bounded(self) -> bool:
        """Whether there is a bound."""
        return self.cost is not None or self.tokens is not None


def make_cap(dollars: Decimal | str | None, tokens: int | None) -> Cap:
    """The cap in US dollars and tokens. None: no bound."""
    return Cap(None if dollars is None else billionths(dollars), tokens)


def day_limit(limits: Credential | TenantLimits | None, default: Cap) -> Cap:
    """The day limit of a key or a tenant: its own limits, and the default for the others."""
    if limits is None:
        return default
    dollars, tokens = limits.max_cost_usd_per_day, limits.max_tokens_per_day
    return Cap(
        default.cost if dollars is None else billionths(dollars),
        default.tokens if tokens is None else tokens,
    )


@dataclass(frozen=True, slots=True)
class DayAccount:
    """The account of a key or of a tenant for a day."""

    owner: AccountOwner
    name: str
    """The id of the key, or the name of the tenant."""
    cap: Cap


@dataclass(frozen=True, slots=True)
class ReservationRequest:
    """A request to reserve the cost of a model call."""

    id: str
    """Names the reservation."""
    most: Amount
    """The highest possible cost."""
    job: Cap = Cap()
    """The cap of the job."""
    key_id: str = ""
    """The id of the API key. The call is charged to the key's account of the day. '': the job has
    no key."""
    day: Cap = Cap()
    """The cap of the key's day."""
    tenant: str = ""
    """The tenant. The call is charged to the tenant's account of the day. '': the job has no
    tenant."""
    tenant_day: Cap = Cap()
    """The cap of the tenant's day."""

    @property
    def days(self) -> tuple[DayAccount, ...]:
        """The accounts of the day that are charged for the call."""
        both = (
            DayAccount("key", self.key_id, self.day),
            DayAccount("tenant", self.tenant, self.tenant_day),
        )
        return tuple(day for day in both if day.name)

    def cap_of(self, owner: str) -> Cap:
        """The limit of one of the accounts: of the job, the key or the tenant."""
        return next((day.cap for day in self.days if day.owner == owner), self.job)

    def shortfall(
        self, owner: AccountOwner, unit: Unit, used: int, reserved: int
    ) -> BudgetShortfall:
        """The refusal of this request by one of its accounts."""
        cap = self.cap_of(owner).of(unit) or 0
        return BudgetShortfall(owner, unit, cap, used, self.most.of(unit), reserved)


@dataclass(frozen=True, slots=True)
class BudgetShortfall:
    """The refusal of a call."""

    owner: AccountOwner
    """The owner of the account that has too little."""
    unit: Unit
    cap: int
    """The most that may be spent."""
    used: int
    """The amount that is spent or reserved."""
    requested: int
    """The amount that the call may need."""
    reserved: int = 0
    """The part of `used` that is reserved and not settled. Some of it may be released."""

    @property
    def may_fit_later(self) -> bool:
        """Whether the call may fit once open reservations are settled."""
        return self.used - self.reserved + self.requested <= self.cap
