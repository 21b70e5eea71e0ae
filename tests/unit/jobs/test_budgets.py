"""Money as Redis counts it."""

from __future__ import annotations

from decimal import Decimal

from jobs.budgets import PER_DOLLAR, billionths, in_dollars


def test_money_is_counted_in_whole_billionths_rounded_up() -> None:
    assert billionths("0.25") == PER_DOLLAR // 4
    assert billionths(Decimal("0.0000000001")) == 1
    assert in_dollars(billionths("12.5")) == "12.5"
    assert in_dollars(0) == "0"
