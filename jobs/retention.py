"""Retention: removes old jobs with their references, and then bytes without a reference.

A final job is removed with all its data (see `RedisStore.remove`). Its bytes follow later, because
another job may use them or store them again at this moment. `jobs.store.blob_index` counts the
references and marks the bytes that are being removed.

See ADR 36.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from jobs.blobs.directory import Blobs
from jobs.errors import BlobsUnavailable
from jobs.store.blob_index import REMOVAL_MS
from jobs.store.redis_store import RedisStore
from jobs.sweep import IndexScan


@dataclass(frozen=True, slots=True)
class Retention:
    """How long jobs and unreferenced bytes are kept."""

    jobs_ms: int
    grace_ms: int
    """Longer than any attempt, because bytes are stored before a job refers to them."""
    batch: int = 100
    """The number of jobs or digests that are listed at a time."""


async def remove_finished(store: RedisStore, retention: Retention) -> int:
    """Remove the jobs that have been final for `jobs_ms`, the oldest first; returns their number.

    Raises StoreUnavailable; the first error of a job that could not be removed, after all other
    jobs.
    """
    before = await store.now() - retention.jobs_ms
    scan = IndexScan(partial(store.finished, before))

    async def remove(job_id: str) -> bool:
        if (loaded := await store.load(job_id)) is None:
            return False
        return await store.remove(loaded.record)

    count = 0
    while job_ids := await scan.next_ids(retention.batch):
        for job_id in job_ids:  # one at a time: no caller waits for it
            count += await scan.visit([job_id], remove)
    scan.raise_first_error()
    return count


async def remove_unreferenced(store: RedisStore, blobs: Blobs, retention: Retention) -> int:
    """Remove one batch of bytes without a reference; returns the number of digests in the batch.

    It stops after half of the time for which its marks are valid. A later call removes the others
    when the marks have expired. Bytes that cannot be removed wait for another grace period;
    StoreUnavailable is raised after the batch.
    """
    started_at = time.monotonic()
    batch = await store.blobs.take_unreferenced(retention.grace_ms, retention.batch)
    removed, failed, errors = [], [], []
    for digest in batch.digests:
        if (time.monotonic() - started_at) * 1000 > REMOVAL_MS / 2:
            break
        try:
            await blobs.remove(digest)
            removed.append(digest)
        except BlobsUnavailable as error:
            failed.append(digest)
            errors.append(error)
    await store.blobs.confirm_removal(removed)
    if failed:
        await store.blobs.restore(failed)
        raise errors[0]
    return batch.checked
