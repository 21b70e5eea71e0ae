"""The search index: new jobs enter the index of words."""

from __future__ import annotations

from jobs.store.redis_store import RedisStore
from jobs.store.search import AT_ONCE
from worker.background.loop import every_seconds


async def index_forever(store: RedisStore, seconds: float) -> None:
    """Index until cancelled: one worker of the fleet does, every `seconds`."""

    async def index() -> None:
        while await store.words.index() == AT_ONCE:
            pass  # between two steps Redis serves others

    await every_seconds(seconds, "index", index, store.leader)
