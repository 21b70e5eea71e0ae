"""Budget: the port to what a job may spend, and the guard that enforces it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from agents.models.errors import ModelError
from agents.models.name import ModelName
from agents.spending.billed import may_be_billed
from agents.spending.pricing import Prices, Usage


@dataclass(frozen=True, slots=True)
class MaxSpend:
    """The most that a request to `model` can use. `cost_usd` None: no price is known."""

    model: str
    tokens: int
    cost_usd: Decimal | None


class Budget(Protocol):
    """What a job may still spend (J13)."""

    async def reserve(self, most: Callable[[], MaxSpend]) -> str | None:
        """Reserve what a request can cost. The charge that names the reservation settles it.

        Returns None if the job has no limit; then `most` is not called. Raises
        `agents.errors.BudgetExhausted` if not enough is left, and its PriceUnknown if the limit is
        in money and no price is known.
        """
        ...

    async def release(self, reservation: str) -> None:
        """Release the reservation of a request that cost nothing."""
        ...


@dataclass(slots=True)
class BudgetGuard:
    """Reserves what each request of one model call can cost, before it is sent.

    `reservation` is that of the last request. The reservation of a request that was retried and may
    have been billed stays, because its cost will never be known. `check` is Cancel.check: while a
    request waits for the rate limit or for Redis, the job may become another attempt's (J11, J13).
    """

    budget: Budget
    prices: Prices
    model: str
    check: Callable[[], Awaitable[None]]
    reservation: str | None = field(default=None, init=False)

    async def before(self, most: Callable[[], Usage]) -> None:
        """A request that can use so much is about to be sent. Raises BudgetExhausted to forbid it,
        and Stopped as `check` does."""
        self.reservation = await self.budget.reserve(lambda: self._most(most()))
        if self.reservation is None:  # a reservation checks the epoch itself
            await self.check()

    async def failed(self, error: ModelError) -> None:
        """The request has failed. Whether it is retried is not decided yet."""
        reserved, self.reservation = self.reservation, None
        if reserved is not None and not may_be_billed(error):
            await self.budget.release(reserved)

    def _most(self, usage: Usage) -> MaxSpend:
        tokens = usage.input_tokens + usage.output_tokens
        return MaxSpend(self.model, tokens, self.prices.most(ModelName.parse(self.model), usage))
