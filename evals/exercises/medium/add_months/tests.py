from datetime import date

import pytest
from solution import add_months, schedule


@pytest.mark.parametrize(
    ("day", "months", "expected"),
    [
        (date(2024, 1, 31), 1, date(2024, 2, 29)),
        (date(2023, 1, 31), 1, date(2023, 2, 28)),
        (date(2023, 11, 30), 3, date(2024, 2, 29)),
        (date(2024, 3, 31), -1, date(2024, 2, 29)),
        (date(2024, 1, 15), -1, date(2023, 12, 15)),
        (date(2024, 1, 15), -13, date(2022, 12, 15)),
        (date(2024, 12, 31), 0, date(2024, 12, 31)),
        (date(2024, 12, 1), 12, date(2025, 12, 1)),
        (date(2000, 2, 29), 1200, date(2100, 2, 28)),
    ],
)
def test_months(day, months, expected):
    assert add_months(day, months) == expected


def test_a_short_month_shifts_nothing():
    days = schedule(date(2024, 1, 31), 5)
    assert [d.day for d in days] == [31, 29, 31, 30, 31]
    assert [d.month for d in days] == [1, 2, 3, 4, 5]


def test_quarters_and_none():
    assert schedule(date(2023, 11, 30), 3, 3) == [
        date(2023, 11, 30),
        date(2024, 2, 29),
        date(2024, 5, 30),
    ]
    assert schedule(date(2024, 1, 1), 0) == []


@pytest.mark.parametrize(("count", "every"), [(-1, 1), (1, 0), (1, -1)])
def test_senseless_schedules(count, every):
    with pytest.raises(ValueError):
        schedule(date(2024, 1, 1), count, every)


@pytest.mark.parametrize("months", [12 * 9000, -12 * 2024])
def test_out_of_reach(months):
    with pytest.raises(OverflowError):
        add_months(date(2024, 1, 1), months)
