"""Settings of spending on models: limits and prices."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_settings import NoDecode

from settings.base import FettleSettings

_DOLLARS = r"(\d{1,6}(?:\.\d{1,9})?)"
_PRICE = re.compile(rf"([a-z][a-z0-9_]*:[^=\s]+)={_DOLLARS}/{_DOLLARS}(?:/{_DOLLARS})?")


def _parts(value: Any) -> Any:
    """The parts of `a=1/2, b=1/2`. An empty text has no parts."""
    if not isinstance(value, str):
        return value
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _checked(prices: tuple[str, ...]) -> tuple[str, ...]:
    for number, price in enumerate(prices, 1):
        if not _PRICE.fullmatch(price):
            raise ValueError(
                f"item {number} is not a price: write provider:model=INPUT/OUTPUT[/CACHED]"
            )
    return prices


PriceList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_parts), AfterValidator(_checked)]


class MoneySettings(FettleSettings):
    """US dollars, and tokens of input and output together."""

    max_job_cost_usd: Decimal | None = Field(
        None,
        gt=0,
        le=999_999,
        decimal_places=9,
        description="the most US dollars that a job may ask to spend, and the limit of a job that "
        "asks for none",
    )
    max_job_tokens: int | None = Field(
        None, gt=0, description="the same in tokens; unset: workers stop a job at 2,000,000"
    )
    key_cost_usd_per_day: Decimal | None = Field(
        None,
        gt=0,
        le=999_999,
        decimal_places=9,
        description="US dollars that the jobs of an API key without a limit of its own may spend "
        "on a day (UTC)",
    )
    key_tokens_per_day: int | None = Field(None, gt=0, description="the same in tokens")
    tenant_cost_usd_per_day: Decimal | None = Field(
        None,
        gt=0,
        le=999_999,
        decimal_places=9,
        description="US dollars that all jobs of a tenant without a limit of its own may spend on "
        "a day (UTC)",
    )
    tenant_tokens_per_day: int | None = Field(None, gt=0, description="the same in tokens")
    shown_files_characters: int = Field(
        12_000,
        ge=0,
        description="characters of the files that come with a job that its prompts show in full, "
        "smallest first; at most an eighth of the model's context. Larger files are shown by their "
        "first lines and what they define",
    )
    prices: PriceList = Field(
        (),
        description="your own prices for a million tokens, which come before the bundled list: "
        "`provider:model=INPUT/OUTPUT`, or `.../CACHED` with the price of cached input, separated"
        " by commas",
    )

    def operator_prices(self) -> dict[str, tuple[Decimal, Decimal, Decimal]]:
        """By model: US dollars for a million tokens of input, output, and input out of a cache."""
        parsed = (match.groups() for text in self.prices if (match := _PRICE.fullmatch(text)))
        return {
            model: (Decimal(fresh), Decimal(output), Decimal(cached or fresh))
            for model, fresh, output, cached in parsed
        }
