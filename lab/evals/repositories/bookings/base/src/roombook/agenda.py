"""A day as text."""


def lines(calendar, room=None):
    rooms = calendar.rooms() if room is None else [room]
    return [str(each) for name in rooms for each in calendar.between(name, 0, 24 * 60)]
