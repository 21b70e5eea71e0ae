from dataclasses import dataclass

from roombook import clock
from roombook.errors import BookingError


@dataclass(frozen=True, order=True)
class Booking:
    """A room from `start` until before `end`, in minutes of the day."""

    room: str
    start: int
    end: int
    who: str

    def __post_init__(self):
        if not 0 <= self.start < self.end <= clock.DAY:
            raise BookingError(f"not a time of a day: {self.start} to {self.end}")

    def overlaps(self, start, end):
        return self.start < end and start < self.end

    def __str__(self):
        return f"{self.room} {clock.show(self.start)}-{clock.show(self.end)} {self.who}"
