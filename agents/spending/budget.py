"""Budget: the port to what a job may spend, and the guard that keeps to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from agents.models import ModelError, ModelName, Prices, Usage, may_be_billed


@dataclass(frozen=True, slots=True)
class MaxSpend:
    """What a request to `model` can use at most. `cost_usd` None: no price is known."""

    model: str
    tokens: int
    cost_usd: Decimal | None


class Budget(Protocol):
    """What a job may still spend (J13)."""

    async def reserve(self, most: Callable[[], MaxSpend]) -> str | None:
        """Set aside what a request can cost; the charge that names the reservation settles it.

        None where nothing limits the job: then `most` is not asked for. Raises
        `agents.errors.BudgetExhausted` where there is not as much left, and its PriceUnknown where
        money is limited and no price is known.
        """
        ...

    async def release(self, reservation: str) -> None:
        """Give back what was set aside for a request that cost nothing."""
        ...


@dataclass(slots=True)
class BudgetGuard:
    """Sets aside what each request of one model call can cost, before it is sent.

    `reservation` is that of the last request: what became of one that was tried again, and may
    have been billed, nobody will ever tell; it stays set aside. `check` is Cancel.check: a request
    may have waited for its turn, or for Redis, until the job was another attempt's (J11, J13).
    """

    budget: Budget
    prices: Prices
    model: str
    check: Callable[[], Awaitable[None]]
    reservation: str | None = field(default=None, init=False)

    async def before(self, most: Callable[[], Usage]) -> None:
        """See SpendGuard. Raises BudgetExhausted, and Stopped as `check` does."""
        self.reservation = await self.budget.reserve(lambda: self._most(most()))
        if self.reservation is None:  # one that was made is fenced itself
            await self.check()

    async def failed(self, error: ModelError) -> None:
        """See SpendGuard."""
        reserved, self.reservation = self.reservation, None
        if reserved is not None and not may_be_billed(error):
            await self.budget.release(reserved)

    def _most(self, usage: Usage) -> MaxSpend:
        tokens = usage.input_tokens + usage.output_tokens
        return MaxSpend(self.model, tokens, self.prices.most(ModelName.parse(self.model), usage))
