"""What a model call used, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Self

import genai_prices
from langchain_core.messages import AIMessage

from agents.models.name import ModelName

_WRITES = ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
_PER = 1_000_000
_MOST = 2**63 - 1
"""The largest number of tokens that can be stored."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call. `cached_input_tokens` were read from the provider's cache,
    `cache_write_tokens` written to it. Both are part of `input_tokens`."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int = 0
    cache_write_tokens: int = 0

    @classmethod
    def of(cls, message: AIMessage) -> Self | None:
        """What the provider reported with this reply, or None.

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
    whole = type(reported) is int  # a bool is no count
    return reported if whole and 0 <= reported <= _MOST else None


@dataclass(frozen=True, slots=True)
class OperatorPrice:
    """An operator's price in US dollars per million tokens; `cached`: read from a cache."""

    input: Decimal
    output: Decimal
    cached: Decimal

    def of(self, usage: Usage) -> Decimal:
        """The cost of a call."""
        fresh = usage.input_tokens - usage.cached_input_tokens
        total = fresh * self.input + usage.cached_input_tokens * self.cached
        return (total + usage.output_tokens * self.output) / _PER


@dataclass(frozen=True, slots=True)
class Prices:
    """The operator's prices by model; for all others the price list of genai-prices."""

    own: Mapping[str, OperatorPrice] = field(default_factory=dict)

    def of(self, name: ModelName, usage: Usage | None) -> Decimal | None:
        """US dollars; None if the price is unknown.

        A recording costs nothing. A free tier is priced like the paid one.
        """
        if name.is_recording:
            return Decimal(0)
        if usage is None:
            return None
        own = self.own.get(str(name))
        return own.of(usage) if own is not None else _listed(name, usage)

    def most(self, name: ModelName, usage: Usage) -> Decimal | None:
        """The highest possible cost of so many tokens: nothing cached, or everything written to the
        cache."""
        whole = replace(usage, cached_input_tokens=0, cache_write_tokens=0)
        written = replace(whole, cache_write_tokens=usage.input_tokens)
        costs = (self.of(name, each) for each in (whole, written))
        return max((cost for cost in costs if cost is not None), default=None)


def _listed(name: ModelName, usage: Usage) -> Decimal | None:
    if name.of.priced_as is None:
        return None
    try:
        tokens = genai_prices.Usage(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cached_input_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )
        answer = genai_prices.calc_price(tokens, name.model, provider_id=name.of.priced_as)
    except (LookupError, ValueError):  # not on the list, or inconsistent counts
        return None
    return answer.total_price
