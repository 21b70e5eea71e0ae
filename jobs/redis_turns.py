"""Turns in Redis: keys that expire. Who sweeps and removes makes room: also where it is full."""

from __future__ import annotations

from redis.asyncio import Redis

from jobs import keys
from jobs.redis_full import urgent_script
from jobs.redis_reach import reached
from jobs.redis_script import SCRIPTS


class RedisTurns:
    """See jobs.turns."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._mine = urgent_script(redis, (SCRIPTS / "turn.lua").read_text())

    async def mine(self, name: str, ms: int) -> bool:
        """See Turns."""
        return bool(await reached(self._mine(keys=[keys.turn(name)], args=[ms])))

    async def keep(self, name: str, ms: int) -> None:
        """See Turns."""
        await reached(self._redis.pexpire(keys.turn(name), ms))
