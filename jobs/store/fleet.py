"""The workers that were seen lately, the rules for all of them, the knowledge that they share, and
locks for their shared work."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from redis.asyncio import Redis

from jobs.model import fleet
from jobs.model.codec import dump
from jobs.redis import keys
from jobs.redis.connection import Clock, UrgentCommands, await_redis, read_script, urgent_script

DAY_MS = 86_400_000
FORGET_AFTER_MS = 3_600_000
DRAIN_KEPT_SECONDS = 3_600
"""How long a request to drain is kept that its worker has not read."""


class WorkerRegistry(Clock):
    """A part of RedisStore: what each worker has announced; an entry expires."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self._urgently = UrgentCommands(redis)
        self._announce = urgent_script(redis, read_script("announce"))

    async def announce(self, worker: str, facts: Mapping[str, Any], seconds: int) -> bool:
        """Publish what a worker is and can do; it expires after `seconds`. Returns whether the
        worker was asked to drain.
        """
        now = await self.now()
        body = dump({**facts, "id": worker, "seen_at": now})
        args = (body, max(seconds, 1), worker, now, now - FORGET_AFTER_MS)
        names = (keys.worker(worker), keys.WORKERS, keys.drain(worker))
        return bool(await await_redis(self._announce(keys=names, args=args)))

    async def withdraw(self, worker: str) -> None:
        """Forget a worker that stops."""
        names = (keys.worker(worker), keys.drain(worker))
        await await_redis(self._urgently([("DEL", *names), ("ZREM", keys.WORKERS, worker)]))

    async def workers(self) -> Sequence[Mapping[str, Any]]:
        """What the workers that were seen lately have announced, with `id` and `seen_at`."""
        ids = await await_redis(self.redis.zrange(keys.WORKERS, 0, -1))
        if not ids:
            return []
        bodies = await await_redis(
            self.redis.mget([keys.worker(worker.decode()) for worker in ids])
        )
        return [json.loads(body) for body in bodies if body]

    async def request_drain(self, worker: str) -> bool:
        """Ask a worker to drain, which it reads at its next heartbeat. False where none of that
        name was seen lately.
        """
        if not await await_redis(self.redis.exists(keys.worker(worker))):
            return False
        await await_redis(
            self._urgently([("SET", keys.drain(worker), "", "EX", DRAIN_KEPT_SECONDS)])
        )
        return True


class FleetStore(Clock):
    """A part of RedisStore. A write works although Redis is full: a shorter retention frees
    memory."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self._replace = urgent_script(redis, read_script("fleet"))

    async def read(self) -> fleet.FleetRecord | None:
        """The record; None if it does not exist yet. Raises FleetUnreadable, StoreUnavailable."""
        text = await await_redis(self.redis.get(keys.FLEET))
        return None if text is None else fleet.load(text)

    async def replace(self, record: fleet.FleetRecord) -> bool:
        """Write the version that follows the version in Redis. Writes nothing and returns False if
        another change came first."""
        args = (record.version - 1, fleet.dump(record))
        return bool(await await_redis(self._replace(keys=[keys.FLEET], args=args)))

    async def count_finished(self, longer_than_ms: int) -> int:
        """How many jobs on record have been final for longer."""
        before = await self.now() - longer_than_ms
        return int(await await_redis(self.redis.zcount(keys.FINISHED, "-inf", before)))

    async def oldest_finished_days(self) -> float:
        """How many days ago the oldest finished job on record ended; 0 without one."""
        oldest = await await_redis(self.redis.zrange(keys.FINISHED, 0, 0, withscores=True))
        return (await self.now() - oldest[0][1]) / DAY_MS if oldest else 0.0


class CapabilityRecords:
    """A part of RedisStore: one text by model, `provider:model`. The workers know the shape of a
    text, and how long it counts. Raises StoreUnavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def all(self) -> Mapping[str, str]:
        """All of them."""
        texts = await await_redis(self._redis.hgetall(keys.CAPABILITIES))
        return {model.decode(): text.decode(errors="replace") for model, text in texts.items()}

    async def put(self, model: str, text: str) -> None:
        """Write the text of a model."""
        await await_redis(self._redis.hset(keys.CAPABILITIES, model, text))

    async def remove(self, model: str) -> None:
        """Forget a model."""
        await await_redis(self._redis.hdel(keys.CAPABILITIES, model))


class LeaderLock:
    """Locks by name for work that one worker does for the whole fleet; the others skip it.

    Not exclusive: a worker that was frozen may do the same work as the next leader at the same
    time, and that must do no harm. Works although Redis is full: sweeping and removing free memory.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._acquire = urgent_script(redis, read_script("acquire"))

    async def try_acquire(self, name: str, ms: int) -> bool:
        """Whether the caller has the lock, for `ms`."""
        return bool(await await_redis(self._acquire(keys=[keys.lock(name)], args=[ms])))

    async def release(self, name: str) -> None:
        """Remove a lock now."""
        await await_redis(self._redis.delete(keys.lock(name)))


def lock_duration_ms(seconds: float) -> int:
    """How long (ms) to lock work that is done every so many seconds: a little less than that, so
    that a single worker always gets the lock.
    """
    return max(1, int(seconds * 900))
