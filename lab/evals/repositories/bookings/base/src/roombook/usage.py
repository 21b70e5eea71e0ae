"""How busy rooms are."""


def share(calendar, room, start, end):
    """The part of a span in which a room is taken, 0 to 1."""
    free = sum(ends - begins for begins, ends in calendar.free(room, start, end))
    return 1 - free / (end - start)


def busiest(calendar, start, end):
    return max(calendar.rooms(), key=lambda room: share(calendar, room, start, end), default=None)
