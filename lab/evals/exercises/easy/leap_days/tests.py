from datetime import date

from solution import leap_days


def test_both_ends_count():
    assert leap_days(date(2024, 2, 29), date(2024, 2, 29)) == 1
    assert leap_days(date(2024, 3, 1), date(2028, 2, 28)) == 0
    assert leap_days(date(2024, 2, 29), date(2028, 2, 29)) == 2


def test_centuries():
    assert leap_days(date(1900, 1, 1), date(1900, 12, 31)) == 0
    assert leap_days(date(2000, 1, 1), date(2000, 12, 31)) == 1
    assert leap_days(date(1896, 3, 1), date(1904, 2, 28)) == 0


def test_backwards():
    assert leap_days(date(2024, 12, 31), date(2024, 1, 1)) == 0


def test_all_of_it():
    assert leap_days(date.min, date.max) == 2424


def test_against_counting():
    days = [date.fromordinal(n) for n in range(693_000, 698_000, 37)]
    for first in days[::9]:
        for last in days[::7]:
            span = range(first.year, last.year + 1)
            leaps = [y for y in span if y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)]
            assert leap_days(first, last) == sum(first <= date(y, 2, 29) <= last for y in leaps)
