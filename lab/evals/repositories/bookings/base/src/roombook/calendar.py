"""All bookings, by room and time."""

from collections import defaultdict

from sortedcontainers import SortedKeyList

from roombook.errors import Taken, Unknown


class Calendar:
    def __init__(self, bookings=()):
        self._rooms = defaultdict(lambda: SortedKeyList(key=lambda booking: booking.start))
        for booking in bookings:
            self.add(booking)

    def __iter__(self):
        for room in sorted(self._rooms):
            yield from self._rooms[room]

    def __len__(self):
        return sum(map(len, self._rooms.values()))

    def rooms(self):
        return sorted(self._rooms)

    def between(self, room, start, end):
        """The bookings of a room that overlap a span of time, in order."""
        bookings = self._rooms[room]
        return list(bookings.irange_key(start, end, inclusive=(True, False)))

    def add(self, booking):
        """Raises Taken where another is in the way."""
        for other in self.between(booking.room, booking.start, booking.end):
            raise Taken(other)
        self._rooms[booking.room].add(booking)

    def remove(self, booking):
        """Raises Unknown."""
        try:
            self._rooms[booking.room].remove(booking)
        except ValueError:
            raise Unknown(str(booking)) from None

    def move(self, booking, start):
        """The booking at another time, as long as before. Raises Taken; then nothing is moved."""
        moved = type(booking)(booking.room, start, start + booking.end - booking.start, booking.who)
        self.remove(booking)
        try:
            self.add(moved)
        except Taken:
            self.add(booking)
            raise
        return moved

    def free(self, room, start, end):
        """[(start, end)] of the spans in which a room is free."""
        spans, at = [], start
        for booking in self.between(room, start, end):
            if booking.start > at:
                spans.append((at, booking.start))
            at = max(at, booking.end)
        if at < end:
            spans.append((at, end))
        return spans
