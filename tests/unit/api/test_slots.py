"""So much at the same time: of one key, and of all."""

from __future__ import annotations

import contextlib

import pytest

from api import problems
from api.auth.slots import Slots
from api.problems import Refused


def slots(of_a_key: int, of_all: int) -> Slots:
    return Slots(of_a_key, of_all, problems.TOO_MANY_SEARCHES, problems.SEARCHES_BUSY, 1)


def test_a_key_has_so_many_slots_and_all_keys_have_more():
    some = slots(of_a_key=2, of_all=3)
    with contextlib.ExitStack() as held:
        for key in ("ann", "ann"):
            held.enter_context(some.slot(key))
        with pytest.raises(Refused) as refused:
            held.enter_context(some.slot("ann"))
        assert refused.value.kind.status == 429
        held.enter_context(some.slot("bob"))
        with pytest.raises(Refused) as refused:
            held.enter_context(some.slot("cat"))
        assert (refused.value.kind.status, refused.value.headers["Retry-After"]) == (503, "1")
    with some.slot("ann"), some.slot("ann"), some.slot("cat"):
        pass  # each slot came back


def test_what_fails_gives_its_slot_back():
    some = slots(of_a_key=1, of_all=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), some.slot("ann"):
            raise ZeroDivisionError
