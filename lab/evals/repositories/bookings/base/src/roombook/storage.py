"""A calendar as JSON."""

import json
from dataclasses import asdict

from roombook.booking import Booking
from roombook.calendar import Calendar
from roombook.errors import BookingError


def dump(calendar):
    return json.dumps([asdict(booking) for booking in calendar], indent=1)


def load(text):
    """Raises BookingError."""
    try:
        return Calendar(Booking(**each) for each in json.loads(text))
    except (ValueError, TypeError) as error:
        raise BookingError(f"no calendar: {error}") from None
