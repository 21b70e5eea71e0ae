"""A rate limit per key, counted in Redis, so that it holds over all API processes."""

from __future__ import annotations

import math
import time
from typing import Any, cast

from limits import parse
from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from jobs.keys import PREFIX
from jobs.redis_full import takes_no_writes
from jobs.redis_reach import reached, reaching


class RateLimit:
    """So many requests in a sliding window, such as `600/minute`."""

    def __init__(self, redis: Redis, rate: str) -> None:
        self.rate = parse(rate)
        # the pool is ours, with our time-outs: the address given here is never dialled
        storage = RedisStorage(
            "async+redis://shared:0",
            implementation="redispy",
            key_prefix=f"{PREFIX}rate",
            connection_pool=cast("Any", redis.connection_pool),
        )
        self._limiter = SlidingWindowCounterRateLimiter(storage)

    async def wait_seconds(self, key_id: str) -> int:
        """Count a request; 0 if it may pass, else how long to wait. Raises StoreUnavailable."""
        async with reaching():
            try:
                if await self._limiter.hit(self.rate, key_id):
                    return 0
            except ResponseError as error:
                if takes_no_writes(error):
                    return 0  # a Redis without memory or disk counts nothing: let reads pass
                raise
        window = await reached(self._limiter.get_window_stats(self.rate, key_id))
        return max(math.ceil(window.reset_time - time.time()), 1)
