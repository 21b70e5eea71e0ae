"""Retention at work: one worker at a time removes what has been final for long enough."""

from __future__ import annotations

import structlog

from jobs.blobs.directory import Blobs
from jobs.retention import Retention, remove_finished, remove_unreferenced
from jobs.store.redis_store import RedisStore
from worker.background.loop import every_seconds, logged

log = structlog.get_logger("worker.background.retention")


async def remove_forever(
    store: RedisStore, blobs: Blobs, retention: Retention, seconds: float
) -> None:
    """Remove in bounded batches until cancelled: one worker of the fleet looks every `seconds`."""

    async def jobs() -> None:
        if count := await remove_finished(store, retention):
            log.info("removed", jobs=count)

    async def loose() -> None:
        looked_at = 0
        while count := await remove_unreferenced(store, blobs, retention):
            looked_at += count
        if looked_at:
            log.info("removed", bytes_looked_at=looked_at)

    async def both() -> None:
        await logged("retention", jobs)
        await logged("retention", loose)

    await every_seconds(seconds, "retention", both, store.leader)
