"""Drains: workers that are asked to stop in good order, from wherever Redis is reached."""

from __future__ import annotations

from redis.asyncio import Redis

from jobs import keys
from jobs.redis_full import UrgentCommands
from jobs.redis_reach import reached

KEPT_SECONDS = 3_600
"""How long a wish stands that its worker has not heard."""


class Drains:
    """A worker hears of it by its next heartbeat, which asks anyhow."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._urgently = UrgentCommands(redis)

    async def ask(self, worker: str) -> bool:
        """Ask a worker to drain; False where none of that name was seen lately."""
        if not await reached(self._redis.exists(keys.worker(worker))):
            return False
        await reached(self._urgently([("SET", keys.drain(worker), "", "EX", KEPT_SECONDS)]))
        return True
