"""The present tokens of models reach listeners, and are not stored."""

from __future__ import annotations

import asyncio

from jobs.redis.channels import MAX_UNREAD
from jobs.store.redis_store import RedisStore, connect


async def test_tokens_reach_all_listeners(store):
    async with (
        store.tokens.subscribe("j1") as first_reader,
        store.tokens.subscribe("j1") as second_reader,
    ):
        assert await store.tokens.publish({"j1": "a", "j2": "b"}) == {"j1"}
        async with asyncio.timeout(20):
            assert await first_reader.get() == await second_reader.get() == "a"
        assert first_reader.empty()


async def test_a_late_listener_gets_no_earlier_message(store):
    assert await store.tokens.publish({"j1": "early"}) == frozenset()
    async with store.tokens.subscribe("j1") as queue:
        await store.tokens.publish({"j1": "late"})
        async with asyncio.timeout(20):
            assert await queue.get() == "late"


async def test_a_listener_that_does_not_read_has_a_limited_buffer_and_is_informed(redis_url):
    store = RedisStore(connect(redis_url, seconds=20))
    async with store.tokens.subscribe("j1") as unread:
        for number in range(2 * MAX_UNREAD + 7):
            await store.tokens.publish({"j1": str(number)})
        async with asyncio.timeout(20):
            async with store.tokens.subscribe("j1") as second_reader:
                await store.tokens.publish({"j1": "end"})
                while await second_reader.get() != "end":
                    pass
        assert 0 < unread.qsize() <= MAX_UNREAD
        assert await unread.get() == ""
        heard = [unread.get_nowait() for _ in range(unread.qsize())]
        assert heard[-1] == "end"
    await store.close()
