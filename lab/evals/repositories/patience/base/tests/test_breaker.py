import pytest
from calls import Flaky

from patience import Breaker, retry
from patience.errors import Open


def fail(breaker, times=1):
    for _ in range(times):
        with pytest.raises(ConnectionError):
            breaker.call(Flaky(1))


def test_it_opens(clock):
    breaker = Breaker(failures=2, rest=10, clock=clock)
    fail(breaker, 2)
    with pytest.raises(Open):
        breaker.call(Flaky(0))


def test_it_lets_one_through_after_its_rest(clock):
    breaker = Breaker(failures=2, rest=10, clock=clock)
    fail(breaker, 2)
    clock.sleep(10)
    assert breaker.call(Flaky(0)) == 1
    assert not breaker.is_open


def test_retry_does_not_try_an_open_one_again(clock):
    breaker = Breaker(failures=1, clock=clock)
    fail(breaker)
    with pytest.raises(Open):
        retry(lambda: breaker.call(Flaky(0)), clock=clock)
