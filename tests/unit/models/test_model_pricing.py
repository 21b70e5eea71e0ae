from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from pydantic import ValidationError

from agents.models.name import ModelName
from agents.ports.spending import Usage
from agents.spending.pricing import OperatorPrice, Prices
from settings.money import MoneySettings

LLAMA = ModelName.parse("groq:llama-3.3-70b-versatile")
FLASH = ModelName.parse("google_genai:gemini-2.5-flash")


def reported(input_tokens: Any = 100, **details: Any) -> Usage | None:
    data: Any = {
        "input_tokens": input_tokens,
        "output_tokens": 20,
        "total_tokens": 120,
        "input_token_details": details,
    }
    # The clients make the message like this, without a check of the numbers.
    return Usage.of(AIMessage.model_construct(content="", usage_metadata=data))


@pytest.mark.parametrize("odd", ["100", None, -1, [100], True])
def test_invalid_token_counts_are_not_reported(odd: Any) -> None:
    assert reported(input_tokens=odd) is None
    assert reported(cache_read=odd, cache_creation=odd) == Usage(100, 20)


def test_cached_tokens_do_not_exceed_the_input_and_inconsistent_counts_have_no_price() -> None:
    usage = reported(cache_read=150)
    assert usage == Usage(100, 20, 100)
    assert reported(cache_read=60, cache_creation=70) == Usage(100, 20, 60, 40)
    assert Prices().of(FLASH, usage) is not None
    assert Prices().of(FLASH, Usage(100, 20, 150)) is None
    assert Prices().of(FLASH, Usage(-1, 20)) is None


@pytest.mark.parametrize("name", [LLAMA, FLASH])
def test_known_models_have_a_price_that_grows_with_use(name: ModelName) -> None:
    small, large = Prices().of(name, Usage(1_000, 100)), Prices().of(name, Usage(10_000, 1_000))
    assert small is not None
    assert large is not None
    assert 0 < small < large
    assert large == small * 10


def test_an_unknown_price_is_none_and_never_zero() -> None:
    assert Prices().of(ModelName.parse("groq:model-of-tomorrow"), Usage(1_000, 100)) is None
    assert Prices().of(LLAMA, None) is None


def test_an_operators_price_comes_first() -> None:
    operator_price = OperatorPrice(Decimal(10), Decimal(20), Decimal(1))
    prices = Prices({str(LLAMA): operator_price, "groq:our-own": operator_price})
    assert prices.of(LLAMA, Usage(1_000_000, 500_000, 400_000)) == Decimal("16.4")
    assert prices.of(ModelName.parse("groq:our-own"), Usage(100_000, 0)) == Decimal(1)
    assert prices.of(FLASH, Usage(1_000, 100)) == Prices().of(FLASH, Usage(1_000, 100))


@pytest.mark.parametrize("wrong", ["groq:a", "groq:a=1", "a=1/2", "groq:a=1/x", "groq:a=1/2/3/4"])
def test_a_price_that_cannot_be_read_is_refused(wrong: str) -> None:
    with pytest.raises(ValidationError, match="INPUT/OUTPUT"):
        MoneySettings(prices=wrong)


def test_prices_are_read_from_one_line() -> None:
    settings = MoneySettings(prices="groq:a=0.5/2, openai:b/c=1/2/0.25")
    assert settings.operator_prices() == {
        "groq:a": (Decimal("0.5"), Decimal(2), Decimal("0.5")),
        "openai:b/c": (Decimal(1), Decimal(2), Decimal("0.25")),
    }
