"""Work that is repeated until it is cancelled, whatever one round raises."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from jobs.errors import StoreUnavailable
from jobs.store.fleet import LeaderLock, every

Work = Callable[[], Awaitable[object]]

log = structlog.get_logger("worker.background")


async def every_seconds(
    seconds: float, name: str, work: Work, leader: LeaderLock | None = None
) -> None:
    """Do it, and again after a pause; with a `leader`, one worker of the fleet does each time."""

    async def in_turn() -> None:
        # another pace has another lock: a change of the rules does not wait for the old one
        if leader is None or await leader.try_acquire(f"{name}:{seconds:g}", every(seconds)):
            await work()

    while True:
        await logged(name, in_turn)
        await asyncio.sleep(seconds)


async def logged(name: str, work: Work) -> None:
    """Do it; what it raises is logged under `name`."""
    try:
        await work()
    except (StoreUnavailable, OSError) as error:
        log.warning(f"{name} missed", error=str(error))
    except Exception as error:
        log.error(f"{name} failed", exc_info=error)
