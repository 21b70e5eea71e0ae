"""Cancellations: the jobs of this process that a client has cancelled are stopped at once.

Why: docs/decisions/0004-cancel-is-final-at-once.md
"""

from __future__ import annotations

import asyncio
import contextlib

from jobs.errors import StoreUnavailable
from jobs.store.redis_store import RedisStore
from worker.attempts import Attempts

AGAIN_SECONDS = 1.0


async def stop_cancelled(store: RedisStore, attempts: Attempts) -> None:
    """Stop cancelled jobs at once; a heartbeat finds those whose message was lost."""
    while True:
        with contextlib.suppress(StoreUnavailable):
            async with store.stops() as stopped:
                await _stop_lost(store, attempts)
                while True:
                    if job_id := await stopped.get():
                        attempts.stop_job(job_id)
                    else:
                        await _stop_lost(store, attempts)
        await asyncio.sleep(AGAIN_SECONDS)


async def _stop_lost(store: RedisStore, attempts: Attempts) -> None:
    """Check every job that is held, when a message may have been missed."""
    for held in attempts.held():
        if not await store.owns(held):
            attempts.lease_lost(held)
