"""What a model call used, and what that costs."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Self

import genai_prices
from langchain_core.messages import AIMessage

from agents.models.name import ModelName

_PRICED_AS = {"groq": "groq", "google_genai": "google"}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `cached_input_tokens` are part of `input_tokens`."""

    input_tokens: int
    output_tokens: int
    cached_input_tokens: int = 0

    @classmethod
    def of(cls, message: AIMessage) -> Self | None:
        """What the provider reported with this reply, or None if it reported nothing."""
        told = message.usage_metadata
        if told is None:
            return None
        cached = told.get("input_token_details", {}).get("cache_read", 0)
        return cls(told["input_tokens"], told["output_tokens"], cached)


def price(name: ModelName, usage: Usage | None) -> Decimal | None:
    """US dollars, by the price list bundled with genai-prices; None if it cannot be known.

    A recording costs nothing, because nobody is called. A free tier is priced as if it were paid.
    """
    if name.is_recording:
        return Decimal(0)
    if usage is None:
        return None
    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_input_tokens,
    )
    try:
        answer = genai_prices.calc_price(tokens, name.model, provider_id=_PRICED_AS[name.provider])
    except LookupError:
        return None
    return answer.total_price
