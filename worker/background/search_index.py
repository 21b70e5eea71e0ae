"""The search index: new jobs enter the index of words, and those of older releases once."""

from __future__ import annotations

from jobs.redis import keys
from jobs.store.fleet import every
from jobs.store.redis_store import RedisStore
from jobs.store.search import AT_ONCE
from worker.background.loop import every_seconds

TURN = "index"
ADOPTION = "adopt"
ADOPTION_MS = 3_600_000
"""How often the fleet looks through all jobs for those that an older release has made."""


async def index_forever(store: RedisStore, seconds: float) -> None:
    """Index until cancelled: one worker of the fleet does, every `seconds`."""

    async def index() -> None:
        if await store.leader.try_acquire(ADOPTION, ADOPTION_MS):
            await adopt(store)
        if await store.leader.try_acquire(TURN, every(seconds)):
            while await store.words.index() == AT_ONCE:
                pass  # between two steps Redis serves others

    await every_seconds(seconds, "index", index)


async def adopt(store: RedisStore) -> None:
    """Queue every job that is not in the search index for its entry, a few at a time."""
    for index in (keys.FINISHED, keys.DUE, keys.AWAITING_REVIEW):
        start = 0
        while looked_at := await store.words.adopt(index, start):
            start += looked_at
