"""BudgetGuard: enforces the budget of a job before each request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import httpx

from agents.errors import (
    BudgetExhausted,
    ErrorKind,
    ModelError,
    ModelNotConfigured,
    ModelRefused,
    ModelUnavailable,
    RecordingMismatch,
    ReplyUnusable,
)
from agents.models.name import ModelName
from agents.models.token_bounds import SMALL_OUTPUT
from agents.ports.spending import Budget, LostReply, MaxSpend, Usage
from agents.spending.pricing import Prices

_NO_MODEL: Final = frozenset(
    {ErrorKind.ADDRESS, ErrorKind.CERTIFICATE, ErrorKind.KEY, ErrorKind.NO_SERVER}
)
"""No model received the request."""

ChargeLost = Callable[[LostReply, str | None], Awaitable[None]]
"""Charges for a lost reply; settles the reservation as far as the usage is known."""


@dataclass(slots=True)
class BudgetGuard:
    """Reserves the most that each request of one model call can cost, before it is sent.

    `charge` puts a request without an answer on record, as far as its usage is known; the unknown
    rest stays reserved. `check` is Cancel.check: while a request waits for the rate limit or for
    Redis, the job may pass to another attempt (J11, J13). See `agents.ports.spending.RequestGuard`.
    """

    budget: Budget
    prices: Prices
    model: str
    """`provider:model`."""
    check: Callable[[], Awaitable[None]]
    charge: ChargeLost | None = None
    reservation: str | None = field(default=None, init=False)
    """The reservation of the last request; None: the job has no limit."""

    async def before(self, most: Callable[[int], Usage], output: int) -> int:
        """Reserve for a request that is about to be sent; returns the limit on its output tokens.

        `most` is the most that the request can use with a limit, and `output` the limit to reserve
        for. If the budget cannot pay for that, a small reply is tried. Raises BudgetExhausted to
        forbid the request, and Stopped as `check` does.
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


def may_be_billed(error: ModelError) -> bool:
    """Whether a failed request may cost money: not if the provider refused it or was not reached.

    A call that timed out or was cut off may have been answered in full; an unusable reply was
    generated.
    """
    match error:
        case ReplyUnusable():
            return True
        case ModelNotConfigured() | RecordingMismatch():
            return False
        case ModelRefused() | ModelUnavailable():
            return error.kind not in _NO_MODEL and error.status in (None, httpx.codes.OK)
        case _:
            return True
