"""Sweeper: looks, every few seconds, for jobs that are due.

Every worker has one, and one of them sweeps in each interval: the one that has set an expiring key
in Redis. Two sweepers at once do no harm, since each change is one commit.
"""

from __future__ import annotations

import asyncio

import structlog

from jobs.errors import Contended, StoreUnavailable
from jobs.service import Operations
from jobs.store.fleet import every

TURN = "sweep"

log = structlog.get_logger("worker.background.sweeper")


async def sweep_forever(operations: Operations, seconds: float, *, grace: float = 0.0) -> None:
    """Sweep until cancelled; one of the fleet's sweepers does, every `seconds`.

    While Redis was away, or accepted no writes, no lease could be renewed. When it is back, workers
    have `grace` seconds to renew their leases before the sweeper takes any back.
    """
    away = False
    while True:
        pause = seconds
        try:
            took = await operations.store.leader.try_acquire(f"{TURN}:{seconds:g}", every(seconds))
            if away:
                away, pause = False, grace
            elif took:
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
