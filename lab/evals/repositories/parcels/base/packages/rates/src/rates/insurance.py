"""The price of insurance."""

from decimal import ROUND_HALF_UP, Decimal

LEAST = Decimal("0.50")


def insurance(value):
    """One percent of the value, at least LEAST, in whole cents."""
    return max(LEAST, (value / 100).quantize(Decimal("0.01"), ROUND_HALF_UP))
