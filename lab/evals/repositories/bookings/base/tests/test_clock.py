import pytest

from roombook import clock
from roombook.errors import BookingError


@pytest.mark.parametrize(("text", "minutes"), [("9:30", 570), ("00:00", 0), ("24:00", 1440)])
def test_read(text, minutes):
    assert clock.read(text) == minutes


@pytest.mark.parametrize("text", ["24:01", "9:60", "9", "nine thirty"])
def test_no_time(text):
    with pytest.raises(BookingError):
        clock.read(text)
