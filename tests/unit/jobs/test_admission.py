"""When a new job is refused, and how money is counted."""

from __future__ import annotations

from decimal import Decimal

import pytest

from jobs.budgets import PER_DOLLAR, billionths, in_dollars
from jobs.queue.admission import QUEUE_FULL, STORE_FULL, AdmissionLimits, SystemLoad, refusal


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
def test_a_job_is_refused_where_memory_or_queue_is_full(load, code):
    refused = refusal(load, AdmissionLimits(0.85, 10))
    assert (refused.code if refused else None) == code


def test_money_is_counted_in_whole_billionths_rounded_up() -> None:
    assert billionths("0.25") == PER_DOLLAR // 4
    assert billionths(Decimal("0.0000000001")) == 1
    assert in_dollars(billionths("12.5")) == "12.5"
    assert in_dollars(0) == "0"
