"""The search index: new jobs enter the index of words."""

from __future__ import annotations

from jobs.store.redis_store import RedisStore
from jobs.store.search import JOBS_PER_STEP
from worker.background.loop import every_seconds


async def index_forever(store: RedisStore, seconds: float) -> None:
    """Index until cancelled: one worker of the fleet does, every `seconds`."""

    async def index() -> None:
        while await store.words.index_new_jobs() == JOBS_PER_STEP:
            pass  # between two steps Redis serves others

    await every_seconds(seconds, "index", index, store.leader)
