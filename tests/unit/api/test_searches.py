"""Searches at the same time: of one key, and of all."""

from __future__ import annotations

import contextlib

import pytest

from api.problems import Refused
from api.searches import Searches


async def test_a_key_has_so_many_slots_and_all_keys_have_more():
    searches = Searches(of_a_key=2, of_all=3)
    async with contextlib.AsyncExitStack() as held:
        for key in ("ann", "ann"):
            await held.enter_async_context(searches.slot(key))
        with pytest.raises(Refused) as refused:
            await held.enter_async_context(searches.slot("ann"))
        assert refused.value.kind.status == 429
        await held.enter_async_context(searches.slot("bob"))
        with pytest.raises(Refused) as refused:
            await held.enter_async_context(searches.slot("cat"))
        assert (refused.value.kind.status, refused.value.headers["Retry-After"]) == (503, "1")
        async with searches.slot("ann", searches=False):
            pass  # a plain list needs none
    async with searches.slot("ann"), searches.slot("ann"), searches.slot("cat"):
        pass  # each slot came back


async def test_a_search_that_fails_gives_its_slot_back():
    searches = Searches(of_a_key=1, of_all=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            async with searches.slot("ann"):
                raise ZeroDivisionError
