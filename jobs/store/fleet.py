"""Workers that were seen lately, the rules of the fleet, shared knowledge of models, and locks for
shared work."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from redis.asyncio import Redis

from jobs.audit.chain import pending_body
from jobs.audit.entries import entry_of_fleet_change
from jobs.model import fleet
from jobs.model.codec import dump
from jobs.model.credentials import OPERATOR
from jobs.redis import keys
from jobs.redis.connection import Clock, UrgentCommands, await_redis, read_script, urgent_script

DAY_MS = 86_400_000
FORGET_AFTER_MS = 3_600_000
DRAIN_KEPT_SECONDS = 3_600
"""How long a request to drain is kept."""


class WorkerRegistry(Clock):
    """A part of RedisStore: the announcements of workers. An announcement expires."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self._urgently = UrgentCommands(redis)
        self._announce = urgent_script(redis, read_script("announce"))

    async def announce(self, worker: str, facts: Mapping[str, Any], seconds: int) -> bool:
        """Publish a worker's announcement for `seconds`. Returns whether a drain of the worker was
        requested."""
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
        """The announcements of workers that were seen lately, with `id` and `seen_at`."""
        ids = await await_redis(self.redis.zrange(keys.WORKERS, 0, -1))
        if not ids:
            return []
        bodies = await await_redis(
            self.redis.mget([keys.worker(worker.decode()) for worker in ids])
        )
        return [json.loads(body) for body in bodies if body]

    async def request_drain(self, worker: str) -> bool:
        """Request a drain, which the worker reads at its next heartbeat. False: no such worker was
        seen lately."""
        if not await await_redis(self.redis.exists(keys.worker(worker))):
            return False
        await await_redis(
            self._urgently([("SET", keys.drain(worker), "", "EX", DRAIN_KEPT_SECONDS)])
        )
        return True


class FleetStore(Clock):
    """A part of RedisStore: the rules of the fleet. A write works although Redis is full, because a
    shorter retention frees memory."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self._replace = urgent_script(redis, read_script("fleet"))

    async def read(self) -> fleet.FleetRecord | None:
        """The record; None if it does not exist yet. Raises FleetUnreadable, StoreUnavailable."""
        text = await await_redis(self.redis.get(keys.FLEET))
        return None if text is None else fleet.load(text)

    async def replace(self, record: fleet.FleetRecord, person: str = "") -> bool:
        """Write the version that follows the version in Redis, and its entry of the audit log.
        `person`: the person who makes the change; '': a worker makes it.
        Writes nothing and returns False if another change came first."""
        entry = pending_body(entry_of_fleet_change(record.changes[-1], person))
        args = (record.version - 1, fleet.dump(record), OPERATOR, entry)
        names = (keys.FLEET, keys.audit_pending(OPERATOR), keys.AUDITED_TENANTS)
        return bool(await await_redis(self._replace(keys=names, args=args)))

    async def count_finished(self, longer_than_ms: int) -> int:
        """The number of jobs that have been final for longer than this."""
        before = await self.now() - longer_than_ms
        return int(await await_redis(self.redis.zcount(keys.FINISHED, "-inf", before)))

    async def oldest_finished_days(self) -> float:
        """The days since the oldest finished job ended. 0: there is no finished job."""
        oldest = await await_redis(self.redis.zrange(keys.FINISHED, 0, 0, withscores=True))
        return (await self.now() - oldest[0][1]) / DAY_MS if oldest else 0.0


class CapabilityRecords:
    """A part of RedisStore: one text for each model, `provider:model`. The workers know the format
    of a text, and how long it is valid. Raises StoreUnavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def all(self) -> Mapping[str, str]:
        """All texts, by model."""
        texts = await await_redis(self._redis.hgetall(keys.CAPABILITIES))
        return {model.decode(): text.decode(errors="replace") for model, text in texts.items()}

    async def put(self, model: str, text: str) -> None:
        """Write the text of a model."""
        await await_redis(self._redis.hset(keys.CAPABILITIES, model, text))

    async def remove(self, model: str) -> None:
        """Forget a model."""
        await await_redis(self._redis.hdel(keys.CAPABILITIES, model))


class LeaderLock:
    """Locks by name, for work that one worker does for the fleet while the others skip it.

    A lock is not exclusive: a worker that was frozen may do the same work as the next leader at the
    same time, so the work must allow that. Locks work although Redis is full, because sweeping and
    removing free memory.
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
    """How long (ms) to lock work that is done every `seconds`: a little less, so that a single
    worker always gets the lock."""
    return max(1, int(seconds * 900))
