"""When a new job is refused, and how money is counted."""

from __future__ import annotations

from decimal import Decimal

import pytest

from jobs.budgets import PER_DOLLAR, Amount, Cap, billionths, format_dollars
from jobs.queue.admission import (
    BUDGET_TAKEN,
    QUEUE_FULL,
    STORE_FULL,
    AdmissionLimits,
    KeyDay,
    SystemLoad,
    check_budget,
    check_load,
)


@pytest.mark.parametrize(
    ("load", "code"),
    [
        (SystemLoad(0, 0, 0), None),
        (SystemLoad(84, 100, 9), None),
        (SystemLoad(85, 100, 9), STORE_FULL),
        (SystemLoad(200, 100, 99), STORE_FULL),
        (SystemLoad(10**12, 0, 9), None),
        (SystemLoad(0, 100, 10), QUEUE_FULL),
    ],
)
def test_a_job_is_refused_if_memory_or_queue_is_full(load, code):
    refused = check_load(load, AdmissionLimits(0.85, 10))
    assert (refused.code if refused else None) == code


def test_money_is_counted_in_whole_billionths_rounded_up() -> None:
    assert billionths("0.25") == PER_DOLLAR // 4
    assert billionths(Decimal("0.0000000001")) == 1
    assert format_dollars(billionths("12.5")) == "12.5"
    assert format_dollars(0) == "0"


TEN = Cap(tokens=10)


@pytest.mark.parametrize(
    ("day", "most", "code"),
    [
        (KeyDay(Cap(), Amount(), 99, Amount(9, 9)), Cap(), None),
        (KeyDay(TEN, Amount(), 2, Amount(0, 3)), Cap(), None),
        (KeyDay(TEN, Amount(), 3, Amount(0, 3)), Cap(), BUDGET_TAKEN),
        (KeyDay(TEN, Amount(0, 5), 1, Amount(0, 3)), Cap(), BUDGET_TAKEN),
        (KeyDay(TEN, Amount(0, 5), 1, Amount(0, 3)), Cap(tokens=2), None),
        (KeyDay(TEN, Amount(), 0, Amount(0, 99)), Cap(), None),
        (KeyDay(TEN, Amount(0, 9), 9, Amount()), Cap(), None),
        (KeyDay(TEN, Amount(0, 9), 0, Amount()), Cap(tokens=2), BUDGET_TAKEN),
        (KeyDay(Cap(cost=10), Amount(8, 0), 1, Amount(2, 3)), Cap(), BUDGET_TAKEN),
    ],
)
def test_a_job_beyond_the_days_budget_of_its_key_is_refused(day, most, code):
    refused = check_budget(day, most)
    assert (refused.code if refused else None) == code
