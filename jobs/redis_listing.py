"""Jobs in Redis by what they have in common: pages of a listing, and how many there are."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, cast

from redis.asyncio import Redis

from jobs import keys
from jobs.admission import Load
from jobs.codec import read_record
from jobs.keys import JobKeys
from jobs.record import JobRecord, Status
from jobs.redis_reach import reached
from jobs.spec import Priority
from jobs.store import Page


class RedisListing:
    """Reads alone; see Store for each method."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def page(
        self, tenant: str, *, limit: int, offset: int, status: Status | None, label: str | None
    ) -> Page:
        """A tenant's jobs, newest first."""
        wanted = [keys.listing(tenant, status=status)] if status is not None else []
        wanted += [keys.listing(tenant, label=label)] if label is not None else []
        if len(wanted) < 2:
            listing = wanted[0] if wanted else keys.listing(tenant)
            async with self._redis.pipeline(transaction=False) as pipe:
                pipe.zcard(listing)
                pipe.zrange(
                    listing, "+inf", "-inf", desc=True, byscore=True, offset=offset, num=limit
                )
                total, ids = await reached(pipe.execute())
        else:
            both = await reached(self._redis.zinter(wanted, aggregate="MAX"))
            total, ids = len(both), list(reversed(both))[offset : offset + limit]
        return Page(await self._records([job_id.decode() for job_id in ids]), total)

    async def counts(self) -> Mapping[Status, int]:
        """How many jobs stand in each status."""
        found = await self._counts()
        return {status: found.get(status, 0) for status in Status}

    async def standing(self, tenant: str) -> Mapping[Status, int]:
        """How many of a tenant's jobs stand in each status."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for status in Status:
                pipe.zcard(keys.listing(tenant, status=status))
            return dict(zip(Status, await reached(pipe.execute()), strict=True))

    async def queue_depth(self) -> Mapping[Priority, int]:
        """How many jobs are queued in each priority."""
        found = await self._counts()
        return {priority: found.get(keys.queued(priority), 0) for priority in Priority}

    async def load_now(self) -> Load:
        """How full the store is."""
        memory = await reached(self._redis.info("memory"))
        most = int(memory.get("maxmemory") or memory.get("total_system_memory") or 0)
        queued = sum((await self.queue_depth()).values())
        return Load(int(memory["used_memory"]), most, queued)

    async def _counts(self) -> dict[str, int]:
        stored = await reached(cast("Awaitable[Any]", self._redis.hgetall(keys.COUNTS)))
        return {name.decode(): int(count) for name, count in stored.items()}

    async def _records(self, ids: Sequence[str]) -> Sequence[JobRecord]:
        async with self._redis.pipeline(transaction=False) as pipe:
            for job_id in ids:
                pipe.hgetall(JobKeys(job_id).record)
            found = await reached(pipe.execute())
        return [read_record(texts(fields)) for fields in found if fields]


def texts(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    """A hash as Redis gives it, in text."""
    return {key.decode(): value.decode() for key, value in fields.items()}
