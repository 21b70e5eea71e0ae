"""Minutes of a day as text."""

import re

from roombook.errors import BookingError

DAY = 24 * 60


def read(text):
    """`9:30` or `24:00`, in minutes. Raises BookingError."""
    found = re.fullmatch(r"(\d{1,2}):(\d{2})", text)
    minutes = int(found[1]) * 60 + int(found[2]) if found else -1
    if found is None or int(found[2]) > 59 or minutes > DAY:
        raise BookingError(f"not a time: {text!r}")
    return minutes


def show(minutes):
    return f"{minutes // 60}:{minutes % 60:02}"
