"""Retention at work: one worker at a time removes what has been final for long enough."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from jobs.blobs import Blobs
from jobs.errors import StoreUnavailable
from jobs.retention import Retention, remove_finished, remove_loose
from jobs.store.fleet import every
from jobs.store.redis import RedisStore
from settings.worker import WorkerSettings

TURN = "retention"

log = structlog.get_logger("worker.retention")


def wanted(settings: WorkerSettings) -> Retention:
    """What the settings ask for; a grace period that an attempt may outlast is warned of."""
    grace, longest = settings.blob_grace_seconds, settings.longest_attempt_seconds
    if grace <= longest:
        advice = "set FETTLE_BLOB_GRACE_SECONDS well above that: bytes may go under a job"
        log.warning(
            "bytes are not kept for long enough",
            blob_grace_seconds=grace,
            longest_attempt_seconds=longest,
            advice=advice,
        )
    return Retention(jobs_ms=int(settings.retention_days * 86_400_000), grace_ms=int(grace * 1000))


async def remove_forever(
    store: RedisStore, blobs: Blobs, retention: Retention, seconds: float
) -> None:
    """Remove in bounded batches until cancelled: one worker of the fleet looks every `seconds`."""

    async def jobs() -> None:
        if count := await remove_finished(store, retention):
            log.info("removed", jobs=count)

    async def loose() -> None:
        looked_at = 0
        while count := await remove_loose(store, blobs, retention):
            looked_at += count
        if looked_at:
            log.info("removed", bytes_looked_at=looked_at)

    async def both() -> None:
        if await store.leader.try_acquire(TURN, every(seconds)):
            await _told(jobs)
            await _told(loose)

    while True:
        await _told(both)
        await asyncio.sleep(seconds)


async def _told(removing: Callable[[], Awaitable[None]]) -> None:
    """What keeps one part from its end is said, and does not keep the other from its begin."""
    try:
        await removing()
    except (StoreUnavailable, OSError) as error:
        log.warning("retention missed", error=str(error))
    except Exception as error:
        log.error("retention failed", exc_info=error)
