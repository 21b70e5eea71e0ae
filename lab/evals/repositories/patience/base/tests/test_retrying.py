import pytest
from calls import Flaky

from patience import Policy, retry
from patience.errors import GaveUp


def test_until_it_works(clock):
    assert retry(Flaky(2), Policy(tries=3, first=1), clock=clock) == 3
    assert clock.slept == [1, 2]


def test_giving_up(clock):
    with pytest.raises(GaveUp, match="after 3 tries") as raised:
        retry(Flaky(9), clock=clock)
    assert str(raised.value.__cause__) == "call 3"


def test_other_errors_are_raised_at_once(clock):
    with pytest.raises(ConnectionError):
        retry(Flaky(1), on=(KeyError,), clock=clock)
    assert clock.slept == []
