"""The ports that limit and count model calls, and the tokens of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol, Self, runtime_checkable

from langchain_core.messages import AIMessage

from agents.errors import ModelError

_WRITES = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
_MOST = 2**63 - 1
"""The largest number of tokens that can be stored."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int = 0
    """The part of `input_tokens` that was read from the provider's cache."""
    cache_write_tokens: int = 0
    """The part of `input_tokens` that was written to the provider's cache."""

    @classmethod
    def of(cls, message: AIMessage) -> Self | None:
        """The tokens that the provider reported with this reply, or None.

        Invalid numbers count as not reported, and so do zeros, which some clients write. Cached
        tokens cannot exceed the input.
        """
        reported = message.usage_metadata
        if reported is None:
            return None
        read, written = _tokens(reported["input_tokens"]), _tokens(reported["output_tokens"])
        if read is None or written is None or not (read or written):  # a reply always has tokens
            return None
        details: Mapping[str, Any] = reported.get("input_token_details") or {}
        cached = min(_tokens(details.get("cache_read")) or 0, read)
        put = sum(_tokens(details.get(name)) or 0 for name in _WRITES)
        return cls(read, written, cached, min(put, read - cached))


def _tokens(reported: Any) -> int | None:
    is_integer = type(reported) is int  # a bool is no count
    return reported if is_integer and 0 <= reported <= _MOST else None


@dataclass(frozen=True, slots=True)
class MaxSpend:
    """The most that a request to `model` can use."""

    model: str
    """`provider:model`."""
    tokens: int
    cost_usd: Decimal | None
    """None: no price is known."""


class Budget(Protocol):
    """The budget of a job (J13)."""

    async def reserve(self, most: Callable[[], MaxSpend]) -> str | None:
        """Reserve the most that a request can cost. The charge that names the reservation settles
        the reservation.

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
    """A reply that did not arrive in full, or is not an answer."""

    usage: Usage | None = None
    """The tokens that the reply reports."""
    received: int = 0
    """About how many tokens have come."""
    call: str | None = None
    """Identifies the reply, if another part of the code may charge for it, too."""


@runtime_checkable
class RequestGuard(Protocol):
    """Decides before each request of one model call whether it may be sent, and accounts for the
    requests that failed. `agents.spending.budget.BudgetGuard` implements it."""

    reservation: str | None
    """The reservation of the last request, which the call's charge settles."""

    async def before(self, most: Callable[[int], Usage], output: int) -> int:
        """Reserve for a request that is about to be sent; returns the limit on its output tokens.

        `most` is the most that the request can use with a limit, and `output` the limit to reserve
        for. Raises BudgetExhausted or Stopped to forbid the request.
        """
        ...

    async def failed(self, error: ModelError, lost: LostReply) -> None:
        """The request has failed. Whether it is retried is not decided yet."""
        ...

    async def cut(self, lost: LostReply) -> None:
        """The request was cancelled, as by the job's deadline."""
        ...


@runtime_checkable
class ModelRateLimit(Protocol):
    """When a request may be sent. Models are named `provider:model`."""

    async def wait(self, model: str, tokens: int) -> None:
        """Wait until a request of about this number of tokens may be sent; it then counts as sent.

        Requests are sent in the order of their calls. Raises ModelUnavailable, at once, if the wait
        would be too long.
        """
        ...

    async def hold(self, model: str, seconds: float) -> None:
        """The provider asked for a pause: no worker calls this model for this number of seconds."""
        ...


class NoLimit:
    """A ModelRateLimit without a limit."""

    async def wait(self, model: str, tokens: int) -> None:
        """See ModelRateLimit."""

    async def hold(self, model: str, seconds: float) -> None:
        """See ModelRateLimit."""


@runtime_checkable
class Meter(Protocol):
    """Counts the requests to models. It must not raise or wait."""

    def record(self, provider: str, seconds: float, error: ModelError | None) -> None:
        """Count a request that took `seconds`; `error` is None if it was answered."""
        ...


class NoMeter:
    """A Meter that counts nothing."""

    def record(self, provider: str, seconds: float, error: ModelError | None) -> None:
        """See Meter."""
