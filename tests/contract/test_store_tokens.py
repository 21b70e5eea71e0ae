"""What models say right now reaches those who listen, and is kept nowhere."""

from __future__ import annotations

import asyncio


async def test_what_is_said_reaches_those_who_listen(store):
    async with store.tokens.heard("j1") as one, store.tokens.heard("j1") as other:
        assert await store.tokens.tell({"j1": "a", "j2": "b"}) == {"j1"}
        async with asyncio.timeout(20):
            assert await one.get() == await other.get() == "a"
        assert one.empty()


async def test_who_comes_later_hears_nothing_of_it(store):
    assert await store.tokens.tell({"j1": "early"}) == frozenset()
    async with store.tokens.heard("j1") as queue:
        await store.tokens.tell({"j1": "late"})
        async with asyncio.timeout(20):
            assert await queue.get() == "late"
