import pytest
from solution import Cache


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_what_is_put_is_got_until_it_expires(clock):
    cache = Cache(2, 10, clock)
    cache.put("a", 1)
    clock.now += 9.5
    assert cache.get("a") == 1
    clock.now += 0.5
    assert cache.get("a", "gone") == "gone"
    assert len(cache) == 0


def test_a_get_prolongs_no_life(clock):
    cache = Cache(2, 10, clock)
    cache.put("a", 1)
    for _ in range(4):
        clock.now += 3
        cache.get("a")
    assert cache.get("a") is None


def test_a_put_gives_a_new_time(clock):
    cache = Cache(2, 10, clock)
    cache.put("a", 1)
    clock.now += 8
    cache.put("a", 2)
    clock.now += 8
    assert cache.get("a") == 2


def test_the_least_recently_used_goes(clock):
    cache = Cache(2, 10, clock)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3]


def test_a_put_counts_as_a_use(clock):
    cache = Cache(2, 10, clock)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.put("a", 3)
    cache.put("c", 4)
    assert [cache.get(key) for key in "abc"] == [3, None, 4]


def test_what_has_expired_goes_before_what_lives(clock):
    cache = Cache(2, 10, clock)
    cache.put("old", 1)
    clock.now += 5
    cache.put("young", 2)
    cache.get("old")  # the most recently used one is the one that expires
    clock.now += 5
    cache.put("new", 3)
    assert cache.get("young") == 2
    assert cache.get("new") == 3


def test_values_that_are_false(clock):
    cache = Cache(1, 10, clock)
    cache.put("a", None)
    assert cache.get("a", "default") is None
    assert len(cache) == 1


def test_no_capacity(clock):
    with pytest.raises(ValueError):
        Cache(0, 10, clock)
