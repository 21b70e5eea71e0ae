import pytest

from roombook import Booking, Calendar


@pytest.fixture
def calendar():
    return Calendar(
        [
            Booking("blue", 540, 600, "ada"),
            Booking("blue", 660, 720, "bob"),
            Booking("red", 480, 1080, "ada"),
        ]
    )
