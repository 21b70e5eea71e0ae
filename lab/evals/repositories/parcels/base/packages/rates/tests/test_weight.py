from decimal import Decimal

from rates import counted_weight, insurance


def test_the_larger_weight_counts():
    assert counted_weight(Decimal("1"), (50, 40, 30)) == 12
    assert counted_weight(Decimal("3"), (10, 10, 10)) == 3
    assert counted_weight(Decimal("3")) == 3


def test_insurance():
    assert insurance(Decimal("20")) == Decimal("0.50")
    assert insurance(Decimal("80.50")) == Decimal("0.81")
