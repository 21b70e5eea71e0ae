"""Bookings of rooms."""

from roombook.booking import Booking
from roombook.calendar import Calendar

__all__ = ["Booking", "Calendar"]
