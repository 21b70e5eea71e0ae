class BookingError(Exception):
    """The root."""


class Taken(BookingError):
    """Another booking is in the way: `other`."""

    def __init__(self, other):
        super().__init__(f"{other.room} is taken by {other.who}")
        self.other = other


class Unknown(BookingError):
    """There is no such booking."""
