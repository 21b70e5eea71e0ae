"""A rate limit per key, counted in the broker's Redis, so that it holds for all API processes.

A count may be lost, and needs no write to a disk. While that Redis is away nothing is counted
and every request passes: accepting and reading jobs does not depend on it.
"""

from __future__ import annotations

import math
import time
from typing import Any, cast

import structlog
from limits import parse
from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.asyncio import Redis
from redis.exceptions import RedisError

from jobs.redis.keys import PREFIX

log = structlog.get_logger(__name__)

AWAY_SECONDS = 5.0
"""Time without counting after Redis did not answer: else each request would wait for it."""


class RateLimit:
    """Requests in a sliding window, such as `600/minute`; closes `redis` with itself."""

    def __init__(self, redis: Redis, rate: str) -> None:
        self.rate = parse(rate)
        # it uses the given pool, with its time-outs: this address is never dialled
        storage = RedisStorage(
            "async+redis://shared:0",
            implementation="redispy",
            key_prefix=f"{PREFIX}rate",
            connection_pool=cast("Any", redis.connection_pool),
        )
        self._limiter = SlidingWindowCounterRateLimiter(storage)
        self._redis = redis
        self._away_until = 0.0

    async def wait_seconds(self, key_id: str) -> int:
        """Count a request. Returns 0 if it may pass, else the seconds to wait."""
        if time.monotonic() < self._away_until:
            return 0
        try:
            if await self._limiter.hit(self.rate, key_id):
                return 0
            window = await self._limiter.get_window_stats(self.rate, key_id)
        except (RedisError, OSError) as error:
            log.warning("requests are not counted", error=str(error))
            self._away_until = time.monotonic() + AWAY_SECONDS
            return 0
        return max(math.ceil(window.reset_time - time.time()), 1)

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()
