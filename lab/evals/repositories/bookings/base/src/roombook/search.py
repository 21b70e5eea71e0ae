"""Looking for a room."""


def first_free(calendar, rooms, minutes, start, end):
    """(room, start) of the earliest span of so many minutes; None where there is none."""
    found = [
        (begins, number, room)
        for number, room in enumerate(rooms)
        for begins, ends in calendar.free(room, start, end)
        if ends - begins >= minutes
    ]
    if not found:
        return None
    begins, _, room = min(found)
    return room, begins


def of_person(calendar, who):
    return sorted((each for each in calendar if each.who == who), key=lambda each: each.start)
