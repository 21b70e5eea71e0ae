"""Retention: what is removed, and when. References first, then bytes that nobody refers to.

A final job goes with all that is kept of it (see `RedisStore.remove`). Bytes follow later: they may
be in use by another job, or be put again this very moment.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from jobs.blobs.directory import Blobs
from jobs.errors import BlobsUnavailable
from jobs.index_scan import IndexScan
from jobs.store.blob_index import REMOVAL_MS
from jobs.store.redis_store import RedisStore


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what is kept, in milliseconds; `batch` bounds what is listed at once.

    `grace_ms` must be longer than any attempt may take: bytes are put before they are referred to.
    """

    jobs_ms: int
    grace_ms: int
    batch: int = 100


async def remove_finished(store: RedisStore, retention: Retention) -> int:
    """Remove the jobs that have been final for long enough, the oldest first; returns how many.

    Raises StoreUnavailable; and what one has raised that could not be removed, when all others are
    gone.
    """
    before = await store.now() - retention.jobs_ms
    scan = IndexScan(partial(store.finished, before))

    async def remove(job_id: str) -> bool:
        if (loaded := await store.load(job_id)) is None:
            return False
        return await store.remove(loaded.record)

    count = 0
    while job_ids := await scan.next(retention.batch):
        for job_id in job_ids:  # one by one: nobody waits for it
            count += await scan.deal([job_id], remove)
    scan.end()
    return count


async def remove_unreferenced(store: RedisStore, blobs: Blobs, retention: Retention) -> int:
    """Remove one batch of bytes that nobody refers to; returns how many digests it looked at.

    What it does not come to within half of the time that its marks stand is found again when they
    have run out: nobody can be putting those bytes meanwhile. What cannot be removed waits for
    another grace period, behind the others. Raises StoreUnavailable, and OSError when the batch is
    done.
    """
    begun = time.monotonic()
    taken = await store.blobs.take(retention.grace_ms, retention.batch)
    gone, stays, wrong = [], [], []
    for digest in taken.digests:
        if (time.monotonic() - begun) * 1000 > REMOVAL_MS / 2:
            break
        try:
            await blobs.remove(digest)
            gone.append(digest)
        except (BlobsUnavailable, OSError) as error:
            stays.append(digest)
            wrong.append(error)
            if isinstance(error, BlobsUnavailable):
                break  # most likely none can be
    await store.blobs.removed(gone)
    if stays:
        await store.blobs.spared(stays)
        raise wrong[0]
    return taken.looked_at
