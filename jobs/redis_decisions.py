"""The Decisions in Redis: which event of which job, by when it was told. A commit notes them."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from typing import Any, cast

from redis.asyncio import Redis

from jobs import keys
from jobs.change import Change
from jobs.codec import read_event
from jobs.decisions import Decided, noted
from jobs.keys import JobKeys
from jobs.record import JobRecord
from jobs.redis_reach import reached
from jobs.redis_script import Command


class RedisDecisions:
    """Reads alone."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def between(
        self, tenant: str, start: int, end: int, *, limit: int, offset: int
    ) -> tuple[Sequence[Decided], int]:
        """See Decisions."""
        name, before = keys.decisions(tenant), f"({end}"
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.zcount(name, start, before)
            pipe.zrangebyscore(name, start, before, offset, limit)
            total, members = await reached(pipe.execute())
            places = [_place(member) for member in members]
            for job_id, seq in places:
                pipe.lindex(JobKeys(job_id).events, seq - 1)
            stored = await reached(pipe.execute())
        return [
            Decided(job_id, read_event(seq, body))
            for (job_id, seq), body in zip(places, stored, strict=True)
            if body
        ], total

    async def of(self, record: JobRecord) -> Sequence[str]:
        """What of a job is noted."""
        stored = self._redis.lrange(JobKeys(record.id).decided, 0, -1)
        return [each.decode() for each in await reached(cast("Awaitable[Any]", stored))]


def told(change: Change) -> Iterator[Command]:
    """The commands that note what a change decides."""
    after = change.after
    for key in noted(change.events):
        yield ("NOTE", keys.decisions(after.tenant), JobKeys(after.id).decided, after.id, key)


def left(record: JobRecord, notes: Sequence[str]) -> Iterator[Command]:
    """The commands that take a job's out."""
    for each in notes:
        yield ("ZREM", keys.decisions(record.tenant), each)


def _place(member: bytes) -> tuple[str, int]:
    job_id, _, seq = member.decode().rpartition(":")
    return job_id, int(seq)
