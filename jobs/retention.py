"""Retention: what is removed, and when. References first, then bytes that nobody refers to.

A final job goes with its events, journal and charges in one step; its checkpoints before it, since
what is left of a removal that was cut off must still be found. Bytes follow later: they may be in
use by another job, or be put again this very moment.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from jobs.blob_index import REMOVAL_MS
from jobs.blobs import Blobs
from jobs.store import Store


@dataclass(frozen=True, slots=True)
class Retention:
    """How long what is kept, in milliseconds; `batch` bounds what one step looks at.

    `grace_ms` must be longer than any attempt may take: bytes are put before they are referred to.
    """

    jobs_ms: int
    grace_ms: int
    batch: int = 100


async def remove_finished(
    store: Store, forget: Callable[[str], Awaitable[None]], retention: Retention
) -> int:
    """Remove one batch of jobs that have been final for long enough; returns how many.

    `forget` removes a job's checkpoints. Raises StoreUnavailable.
    """
    before = await store.now() - retention.jobs_ms
    count = 0
    for job_id in await store.finished(before, retention.batch):
        if (loaded := await store.load(job_id)) is not None:
            await forget(job_id)
            count += await store.remove(loaded.record)
    return count


async def remove_loose(store: Store, blobs: Blobs, retention: Retention) -> int:
    """Remove one batch of bytes that nobody refers to; returns how many digests it looked at.

    Raises StoreUnavailable. What it does not come to within half of the time that its marks stand
    is found again when they have run out: nobody can be putting those bytes meanwhile.
    """
    begun = time.monotonic()
    taken = await store.blobs.take(retention.grace_ms, retention.batch)
    gone = []
    for digest in taken.digests:
        if (time.monotonic() - begun) * 1000 > REMOVAL_MS / 2:
            break
        await blobs.remove(digest)
        gone.append(digest)
    await store.blobs.removed(gone)
    return taken.looked_at
