"""Dependencies: whether Redis, the broker and the artifact store work now. Each is really used.

The texts are for everybody: `/readyz` needs no key. The log has the addresses.
"""

from __future__ import annotations

import asyncio
import time

import structlog
from redis.asyncio import Redis

from jobs.blobs.directory import Blobs
from jobs.errors import BlobsUnavailable, StoreRefused, StoreUnavailable
from jobs.store.fleet import LeaderLock

FRESH_SECONDS = 5.0
"""How long the result of a try of the artifact store counts."""
PATIENCE_SECONDS = 3.0
"""How long a caller waits for a try. A try that takes longer counts as failed until it ends."""
PROBE = "probe"
SILENT = "it does not answer"

log = structlog.get_logger(__name__)


class Dependencies:
    """The services that the API depends on; one object for each process. Methods return the fault,
    or ''."""

    def __init__(self, redis: Redis, broker: Redis, blobs: Blobs) -> None:
        self._redis = LeaderLock(redis)
        self._broker = LeaderLock(broker)
        self._blobs = blobs
        self._trying: asyncio.Task[None] | None = None
        self._tried_at: float | None = None
        self._storage_fault = ""

    async def redis_fault(self) -> str:
        """Why the job record takes no writes. The check makes a small write, such as a decision,
        which Redis takes even at its `maxmemory`."""
        return await _written("Redis", self._redis)

    async def broker_fault(self) -> str:
        """Why the broker takes no writes."""
        return await _written("the broker", self._broker)

    async def storage_fault(self) -> str:
        """Why the artifact store cannot keep bytes; as tried within the last seconds."""
        fresh = self._tried_at is not None and time.monotonic() - self._tried_at < FRESH_SECONDS
        if not fresh and self._trying is None:
            self._trying = asyncio.create_task(self._try_storage())
        if self._trying is not None:
            await asyncio.wait({self._trying}, timeout=PATIENCE_SECONDS)
            if self._trying is not None:
                return f"the artifact store fails: {SILENT}"
        return self._storage_fault

    async def _try_storage(self) -> None:
        try:
            await self._blobs.probe()
        except BlobsUnavailable as error:
            self._note(f"the artifact store fails: {error.reason}", str(error))
        except Exception as error:
            log.error("storage could not be tried", exc_info=error)
            self._note("the artifact store fails: it cannot be tried", str(error))
        else:
            self._note("", "")
        finally:
            self._tried_at, self._trying = time.monotonic(), None

    def _note(self, fault: str, detail: str) -> None:
        if fault and fault != self._storage_fault:
            log.error("storage unavailable", error=detail)
        elif self._storage_fault and not fault:
            log.info("storage works again")
        self._storage_fault = fault


async def _written(name: str, lock: LeaderLock) -> str:
    """Why the server takes no small write."""
    try:
        await lock.try_acquire(PROBE, 1)
    except StoreRefused as error:
        return f"{name} takes no writes: {error.cause or 'it refuses them'}"
    except StoreUnavailable:
        return f"{name} does not answer"
    return ""
