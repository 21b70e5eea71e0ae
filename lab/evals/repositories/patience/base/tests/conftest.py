import pytest

from patience.clock import FakeClock


@pytest.fixture
def clock():
    return FakeClock()
