"""Wrong keys by address: slowed, forgotten, and no trouble to those who have a good one."""

from __future__ import annotations

import pytest

from api.auth.attempts import Attempts


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def attempts(clock) -> Attempts:
    return Attempts("3/minute", clock)


def guess(attempts: Attempts, peer: str, digest: str) -> int:
    wait = attempts.begin(peer, digest)
    if not wait:
        attempts.wrong(peer, digest)
    return wait


def enter(attempts: Attempts, peer: str, digest: str) -> int:
    wait = attempts.begin(peer, digest)
    if not wait:
        attempts.good(peer, digest)
    return wait


def test_an_address_waits_when_it_has_sent_too_many(attempts, clock):
    assert [guess(attempts, "a", str(n)) for n in range(4)] == [0, 0, 0, 60]
    clock.now += 50
    assert guess(attempts, "a", "x") == 10
    assert guess(attempts, "b", "x") == 0, "others have brought none"
    clock.now += 10
    assert guess(attempts, "a", "x") == 0


def test_tries_that_are_under_way_count(attempts):
    assert [attempts.begin("a", str(n)) for n in range(4)] == [0, 0, 0, 60]


def test_good_keys_count_for_nothing_however_many(attempts):
    assert [enter(attempts, "a", str(n)) for n in range(10)] == [0] * 10


def test_a_key_that_was_good_from_there_goes_on(attempts):
    enter(attempts, "a", "key")
    for number in range(4):
        guess(attempts, "a", str(number))
    assert enter(attempts, "a", "key") == 0
    assert enter(attempts, "a", "new here") > 0
    assert enter(attempts, "b", "key") == 0
