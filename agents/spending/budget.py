"""Budget: the port to what a job may spend, and the guard that enforces it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Protocol

from agents.errors import BudgetExhausted
from agents.models.capabilities.output_limit import SMALL_OUTPUT
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


@dataclass(frozen=True, slots=True)
class LostReply:
    """A reply that is no answer: `usage` as it reports it, and about how many tokens were
    `received`. `call` identifies the reply, if a charge for it may also come from elsewhere."""

    usage: Usage | None = None
    received: int = 0
    call: str | None = None


ChargeLost = Callable[[LostReply, str | None], Awaitable[None]]
"""Charges for a lost reply; settles the reservation as far as the usage is known."""


@dataclass(slots=True)
class BudgetGuard:
    """Reserves what each request of one model call can cost, before it is sent.

    `reservation` is that of the last request. `charge` puts a request without an answer on record,
    as far as its usage is known; what is not known stays reserved. `check` is Cancel.check: while a
    request waits for the rate limit or for Redis, the job may become another attempt's (J11, J13).
    """

    budget: Budget
    prices: Prices
    model: str
    check: Callable[[], Awaitable[None]]
    charge: ChargeLost | None = None
    reservation: str | None = field(default=None, init=False)

    async def before(self, most: Callable[[int], Usage], output: int) -> int:
        """Reserve for a request that is about to be sent; returns the limit on its output tokens.

        `most` is the most that the request can use with a limit, and `output` the limit to reserve
        for. If the budget has not enough left for that, a small reply is tried. Raises
        BudgetExhausted to forbid the request, and Stopped as `check` does.
        """
        try:
            self.reservation = await self.budget.reserve(lambda: self._most(most(output)))
        except BudgetExhausted:
            if output <= SMALL_OUTPUT:
                raise
            output = SMALL_OUTPUT
            self.reservation = await self.budget.reserve(lambda: self._most(most(output)))
        if self.reservation is None:  # a reservation checks the epoch itself
            await self.check()
        return output

    async def failed(self, error: ModelError, lost: LostReply) -> None:
        """The request has failed. Whether it is retried is not decided yet."""
        reserved, self.reservation = self.reservation, None
        billed = may_be_billed(error)
        if lost.usage is not None or (billed and lost.received):
            await self._charge(lost, reserved)
        elif reserved is not None and not billed:
            await self.budget.release(reserved)

    async def cut(self, lost: LostReply) -> None:
        """The request was cancelled, as by the job's deadline."""
        if lost.usage is not None or lost.received:
            reserved, self.reservation = self.reservation, None
            await self._charge(lost, reserved)

    async def _charge(self, lost: LostReply, reservation: str | None) -> None:
        if self.charge is not None:
            await self.charge(lost, reservation)

    def _most(self, usage: Usage) -> MaxSpend:
        tokens = usage.input_tokens + usage.output_tokens
        return MaxSpend(self.model, tokens, self.prices.most(ModelName.parse(self.model), usage))
