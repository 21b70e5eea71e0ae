from decimal import Decimal

import pytest

from rates import TooHeavy, price


@pytest.mark.parametrize(
    ("kg", "country", "expected"),
    [("0.4", "DE", "4.20"), ("1.2", "DE", "5.10"), ("4", "FR", "17.50"), ("9.9", "DE", "9.40")],
)
def test_prices(kg, country, expected):
    assert price(Decimal(kg), country) == Decimal(expected)


def test_too_heavy():
    with pytest.raises(TooHeavy, match="more than 10 kg"):
        price(Decimal("10.1"), "DE")
