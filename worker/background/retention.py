"""Retention at work: one worker at a time removes what has been final for long enough."""

from __future__ import annotations

import structlog

from jobs.blobs.directory import Blobs
from jobs.retention import Retention, remove_finished, remove_unreferenced
from jobs.store.redis_store import RedisStore
from settings.worker import WorkerSettings
from worker.background.loop import every_seconds, logged

log = structlog.get_logger("worker.background.retention")


def wanted(settings: WorkerSettings) -> Retention:
    """The retention of the settings; logs a warning where an attempt may outlast the grace
    period."""
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
        while count := await remove_unreferenced(store, blobs, retention):
            looked_at += count
        if looked_at:
            log.info("removed", bytes_looked_at=looked_at)

    async def both() -> None:
        await logged("retention", jobs)
        await logged("retention", loose)

    await every_seconds(seconds, "retention", both, store.leader)
