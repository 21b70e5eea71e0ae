"""Counts leap years, whether or not their 29th of February is inside."""


def leap_days(first, last):
    def leap(year):
        return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)

    return sum(leap(year) for year in range(first.year, last.year + 1))
