"""Sweeper: looks, every few seconds, for jobs whose time has come. Every worker has one."""

from __future__ import annotations

import asyncio

import structlog

from jobs.errors import Contended, StoreUnavailable
from jobs.operations import Operations

log = structlog.get_logger("worker.sweeper")


async def sweep_forever(operations: Operations, seconds: float) -> None:
    """Sweep until cancelled. Two sweepers at once do no harm: each change is one commit."""
    while True:
        try:
            if changed := await operations.sweep():
                log.info("swept", jobs=changed)
        except (StoreUnavailable, Contended) as error:
            log.warning("sweep missed", error=str(error))
        except Exception as error:
            log.error("sweep failed", exc_info=error)
        await asyncio.sleep(seconds)
