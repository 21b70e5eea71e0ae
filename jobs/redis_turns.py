"""Turns in Redis: keys that expire."""

from __future__ import annotations

from redis.asyncio import Redis

from jobs import keys
from jobs.redis_reach import reached


class RedisTurns:
    """See jobs.turns."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def mine(self, name: str, ms: int) -> bool:
        """See Turns."""
        return bool(await reached(self._redis.set(keys.turn(name), "", nx=True, px=ms)))

    async def keep(self, name: str, ms: int) -> None:
        """See Turns."""
        await reached(self._redis.pexpire(keys.turn(name), ms))
