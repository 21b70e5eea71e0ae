"""Wrong keys by address: requests are slowed down, tries are forgotten after a time, and good keys
are not affected.
"""

from __future__ import annotations

import pytest

from api.auth.limits import WrongKeys


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def wrong_keys(clock) -> WrongKeys:
    return WrongKeys("3/minute", clock)


def guess(wrong_keys: WrongKeys, peer: str, digest: str) -> int:
    wait = wrong_keys.begin(peer, digest)
    if not wait:
        wrong_keys.add_wrong(peer, digest)
    return wait


def enter(wrong_keys: WrongKeys, peer: str, digest: str) -> int:
    wait = wrong_keys.begin(peer, digest)
    if not wait:
        wrong_keys.add_valid(peer, digest)
    return wait


def test_an_address_waits_after_too_many_wrong_keys(wrong_keys, clock):
    assert [guess(wrong_keys, "a", str(n)) for n in range(4)] == [0, 0, 0, 60]
    clock.now += 50
    assert guess(wrong_keys, "a", "x") == 10
    assert guess(wrong_keys, "b", "x") == 0, "others have brought none"
    clock.now += 10
    assert guess(wrong_keys, "a", "x") == 0


def test_tries_in_progress_count(wrong_keys):
    assert [wrong_keys.begin("a", str(n)) for n in range(4)] == [0, 0, 0, 60]


def test_good_keys_never_count(wrong_keys):
    assert [enter(wrong_keys, "a", str(n)) for n in range(10)] == [0] * 10


def test_a_key_that_was_good_from_an_address_is_not_delayed(wrong_keys):
    enter(wrong_keys, "a", "key")
    for number in range(4):
        guess(wrong_keys, "a", str(number))
    assert enter(wrong_keys, "a", "key") == 0
    assert enter(wrong_keys, "a", "new here") > 0
    assert enter(wrong_keys, "b", "key") == 0
