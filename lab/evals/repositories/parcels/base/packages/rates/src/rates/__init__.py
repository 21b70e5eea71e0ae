"""Prices of parcels; PRICES.md has the rules."""

from rates.insurance import insurance
from rates.table import TooHeavy, price
from rates.weight import counted_weight

__all__ = ["TooHeavy", "counted_weight", "insurance", "price"]
