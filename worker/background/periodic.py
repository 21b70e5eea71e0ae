"""Periodic work of the fleet: the sweeper, retention, the search index.

Every worker runs all of it. In each interval one worker does the work: the worker that has set an
expiring key in Redis.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from jobs.blobs.directory import Blobs
from jobs.errors import Contended, StoreUnavailable
from jobs.retention import Retention, remove_finished, remove_unreferenced
from jobs.service import Operations
from jobs.store.fleet import LeaderLock, lock_duration_ms
from jobs.store.redis_store import RedisStore
from jobs.store.search import JOBS_PER_STEP

Work = Callable[[], Awaitable[object]]

log = structlog.get_logger("worker.background")


async def every_seconds(
    seconds: float, name: str, work: Work, leader: LeaderLock | None = None
) -> None:
    """Repeat the work with a pause. With a `leader`, one worker of the fleet does it each time."""

    async def in_turn() -> None:
        if leader is None or await _is_turn(leader, name, seconds):
            await work()

    while True:
        await run_logged(name, in_turn)
        await asyncio.sleep(seconds)


async def _is_turn(leader: LeaderLock, name: str, seconds: float) -> bool:
    """Whether this worker does the work in this interval. Each interval length has its own lock:
    after a change of the rules, no worker waits for the old lock."""
    return await leader.try_acquire(f"{name}:{seconds:g}", lock_duration_ms(seconds))


async def run_logged(name: str, work: Work) -> None:
    """Do the work; log its exception under `name`."""
    try:
        await work()
    except (StoreUnavailable, OSError) as error:
        log.warning(f"{name} missed", error=str(error))
    except Exception as error:
        log.error(f"{name} failed", exc_info=error)


async def sweep_forever(operations: Operations, seconds: float, *, grace: float = 0.0) -> None:
    """Sweep until cancelled: one worker of the fleet sweeps every `seconds`.

    While Redis was away, or accepted no writes, no lease could be renewed. When it is back, workers
    have `grace` seconds to renew their leases before the sweeper takes any back.
    """
    away = False
    while True:
        pause = seconds
        try:
            is_turn = await _is_turn(operations.store.leader, "sweep", seconds)
            if away:
                away, pause = False, grace
            elif is_turn:
                await _sweep(operations)
        except StoreUnavailable as error:
            log.warning("sweep missed", error=str(error))
            away = True
        except Contended as error:
            log.warning("sweep missed", error=str(error))
        except Exception as error:
            log.error("sweep failed", exc_info=error)
        await asyncio.sleep(pause)


async def _sweep(operations: Operations) -> None:
    if changed := await operations.sweep():
        log.info("swept", jobs=changed)


async def remove_forever(
    store: RedisStore, blobs: Blobs, retention: Retention, seconds: float
) -> None:
    """Remove old jobs and bytes in bounded batches until cancelled: one worker of the fleet does so
    every `seconds`."""

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
        await run_logged("retention", jobs)
        await run_logged("retention", loose)

    await every_seconds(seconds, "retention", both, store.leader)


async def index_forever(store: RedisStore, seconds: float) -> None:
    """Index new jobs until cancelled: one worker of the fleet does so every `seconds`."""

    async def index() -> None:
        while await store.words.index_new_jobs() == JOBS_PER_STEP:
            pass  # Redis serves other clients between two steps

    await every_seconds(seconds, "index", index, store.leader)
