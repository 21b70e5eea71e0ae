import pytest

from roombook import Booking
from roombook.errors import Taken, Unknown


def test_in_order(calendar):
    assert [each.who for each in calendar] == ["ada", "bob", "ada"]
    assert len(calendar) == 3


def test_one_after_the_other(calendar):
    calendar.add(Booking("blue", 600, 660, "eve"))
    assert calendar.free("blue", 540, 720) == []


def test_the_same_start_is_taken(calendar):
    with pytest.raises(Taken, match="blue is taken by ada"):
        calendar.add(Booking("blue", 540, 550, "eve"))


def test_remove(calendar):
    calendar.remove(Booking("blue", 540, 600, "ada"))
    with pytest.raises(Unknown):
        calendar.remove(Booking("blue", 540, 600, "ada"))


def test_move(calendar):
    moved = calendar.move(Booking("blue", 540, 600, "ada"), 600)
    assert (moved.start, moved.end) == (600, 660)


def test_free(calendar):
    assert calendar.free("blue", 480, 1080) == [(480, 540), (600, 660), (720, 1080)]
