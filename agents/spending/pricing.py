"""Prices: the cost of a model call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

import genai_prices

from agents.models.name import ModelName
from agents.ports.spending import Usage

_PER = 1_000_000


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

    operator_prices: Mapping[str, OperatorPrice] = field(default_factory=dict)

    def of(self, name: ModelName, usage: Usage | None) -> Decimal | None:
        """US dollars; None if the price is unknown.

        A recording costs nothing. A free tier is priced like the paid one.
        """
        if name.is_recording:
            return Decimal(0)
        if usage is None:
            return None
        operator_price = self.operator_prices.get(str(name))
        return operator_price.of(usage) if operator_price is not None else _listed(name, usage)

    def most(self, name: ModelName, usage: Usage) -> Decimal | None:
        """The highest possible cost of these tokens: all uncached, or all written to the cache."""
        uncached = replace(usage, cached_input_tokens=0, cache_write_tokens=0)
        written = replace(uncached, cache_write_tokens=usage.input_tokens)
        costs = (self.of(name, case) for case in (uncached, written))
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
