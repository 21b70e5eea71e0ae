"""Retention at work: one worker at a time removes what has been final for long enough."""

from __future__ import annotations

import asyncio

import structlog

from jobs.blobs import Blobs
from jobs.errors import StoreUnavailable
from jobs.redis_store import RedisStore
from jobs.retention import Retention, remove_finished, remove_loose
from worker.checkpoints import RedisSaver, unfenced

TURN = "retention"

log = structlog.get_logger("worker.retention")


async def remove_forever(
    store: RedisStore, blobs: Blobs, retention: Retention, seconds: float
) -> None:
    """Remove in bounded batches until cancelled: one worker of the fleet looks every `seconds`."""
    checkpoints = RedisSaver(store.redis, unfenced(store.redis))
    while True:
        try:
            if await store.turns.mine(TURN, max(1, int(seconds * 900))):
                await _remove_all(store, blobs, checkpoints, retention)
        except (StoreUnavailable, OSError) as error:
            log.warning("retention missed", error=str(error))
        except Exception as error:
            log.error("retention failed", exc_info=error)
        await asyncio.sleep(seconds)


async def _remove_all(
    store: RedisStore, blobs: Blobs, checkpoints: RedisSaver, retention: Retention
) -> None:
    """Batch after batch; between two of them others have their turn in Redis."""
    jobs = looked_at = 0
    while count := await remove_finished(store, checkpoints.adelete_thread, retention):
        jobs += count
    while count := await remove_loose(store, blobs, retention):
        looked_at += count
    if jobs or looked_at:
        log.info("removed", jobs=jobs, bytes_looked_at=looked_at)
