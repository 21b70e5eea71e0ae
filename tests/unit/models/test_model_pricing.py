from __future__ import annotations

from decimal import Decimal

import pytest
from langchain_core.messages import AIMessage

from agents.models import ModelName, Usage, price

LLAMA = ModelName.parse("groq:llama-3.3-70b-versatile")
FLASH = ModelName.parse("google_genai:gemini-2.5-flash")


def test_usage_is_what_the_reply_reports() -> None:
    message = AIMessage(
        content="",
        usage_metadata={
            "input_tokens": 100,
            "output_tokens": 20,
            "total_tokens": 120,
            "input_token_details": {"cache_read": 60},
        },
    )
    assert Usage.of(message) == Usage(100, 20, 60)


def test_a_reply_that_reports_nothing_has_no_usage_rather_than_none_used() -> None:
    assert Usage.of(AIMessage(content="")) is None


@pytest.mark.parametrize("name", [LLAMA, FLASH])
def test_known_models_have_a_price_that_grows_with_use(name: ModelName) -> None:
    small, large = price(name, Usage(1_000, 100)), price(name, Usage(10_000, 1_000))
    assert small is not None
    assert large is not None
    assert 0 < small < large
    assert large == small * 10


def test_llama_costs_what_groq_asks() -> None:
    # https://groq.com/pricing: 0.59 and 0.79 dollars a million tokens
    assert price(LLAMA, Usage(1_000_000, 1_000_000)) == Decimal("1.38")


def test_cached_tokens_are_cheaper() -> None:
    cold, warm = price(FLASH, Usage(1_000, 0)), price(FLASH, Usage(1_000, 0, 900))
    assert cold is not None
    assert warm is not None
    assert warm < cold


def test_an_unknown_price_is_none_and_never_zero() -> None:
    assert price(ModelName.parse("groq:model-of-tomorrow"), Usage(1_000, 100)) is None
    assert price(LLAMA, None) is None


def test_a_recording_costs_nothing() -> None:
    assert price(ModelName.parse("recording:demo"), None) == Decimal(0)
    assert price(ModelName.parse("recording:demo"), Usage(1_000, 100)) == Decimal(0)
