import pytest

from roombook.errors import BookingError
from roombook.storage import dump, load


def test_there_and_back(calendar):
    assert list(load(dump(calendar))) == list(calendar)


@pytest.mark.parametrize("text", ["", "{}x", '[{"room": 1}]'], ids=["empty", "no json", "a field"])
def test_no_calendar(text):
    with pytest.raises(BookingError, match="no calendar"):
        load(text)
