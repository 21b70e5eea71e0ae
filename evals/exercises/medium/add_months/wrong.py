"""Each due date from the one before: behind February the 31st is lost."""

from calendar import monthrange
from datetime import MAXYEAR, MINYEAR, date


def add_months(day, months):
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not MINYEAR <= year <= MAXYEAR:
        raise OverflowError(f"there is no year {year}")
    month += 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def schedule(start, count, every=1):
    if count < 0 or every < 1:
        raise ValueError("count is at least 0, every at least 1")
    days = [start] if count else []
    while len(days) < count:
        days.append(add_months(days[-1], every))
    return days
