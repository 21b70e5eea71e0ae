from calendar import leapdays
from datetime import date


def leap_days(first, last):
    return max(0, _up_to(last) - _up_to(first) + _is_one(first)) if first <= last else 0


def _up_to(day):
    """Those from year 1 to `day`, included."""
    before = leapdays(1, day.year)
    return before + (leapdays(day.year, day.year + 1) and day >= date(day.year, 2, 29))


def _is_one(day):
    return (day.month, day.day) == (2, 29)
