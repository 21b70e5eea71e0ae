"""The workers that were seen lately, in Redis: what each announced, expiring."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, cast

from redis.asyncio import Redis

from jobs import keys
from jobs.codec import dump
from jobs.redis_full import UrgentCommands, urgent_script
from jobs.redis_reach import reached
from jobs.redis_script import SCRIPTS

FORGOTTEN_MS = 3_600_000


class RedisRoster:
    """Who works here."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._let_go = UrgentCommands(redis)
        self._announce = urgent_script(redis, (SCRIPTS / "announce.lua").read_text())

    async def announce(self, worker: str, facts: Mapping[str, Any], seconds: int, now: int) -> bool:
        """See Store; `now` is the store's time in ms."""
        body = dump({**facts, "id": worker, "seen_at": now})
        args = (body, max(seconds, 1), worker, now, now - FORGOTTEN_MS)
        names = (keys.worker(worker), keys.WORKERS, keys.drain(worker))
        return bool(await reached(self._announce(keys=names, args=args)))

    async def withdraw(self, worker: str) -> None:
        """See Store."""
        names = (keys.worker(worker), keys.drain(worker))
        await reached(self._let_go([("DEL", *names), ("ZREM", keys.WORKERS, worker)]))

    async def workers(self) -> Sequence[Mapping[str, Any]]:
        """See Store."""
        stored = self._redis.zrange(keys.WORKERS, 0, -1)
        ids = await reached(cast("Awaitable[Any]", stored))
        if not ids:
            return []
        names = [keys.worker(worker.decode()) for worker in ids]
        found = await reached(self._redis.mget(names))
        return [json.loads(body) for body in found if body]
