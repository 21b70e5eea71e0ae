"""The Numbers in Redis: a hash a day, which expires."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redis.asyncio import Redis

from jobs import keys
from jobs.numbers import DAYS_KEPT, Counts
from jobs.redis_reach import reached
from jobs.redis_script import Command


class RedisNumbers:
    """Reads alone: a commit adds."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def days(self, tenant: str, days: Sequence[str]) -> Sequence[Counts]:
        """See Numbers."""
        async with self._redis.pipeline(transaction=False) as pipe:
            for day in days:
                pipe.hgetall(keys.numbers(tenant, day))
            found = await reached(pipe.execute())
        return [{name.decode(): int(count) for name, count in day.items()} for day in found]


def added(tenant: str, day: str, counts: Counts) -> Iterator[Command]:
    """The commands that add to a day."""
    name = keys.numbers(tenant, day)
    for each, count in counts.items():
        yield ("HINCRBY", name, each, count)
    if counts:
        yield ("EXPIRE", name, DAYS_KEPT * 86_400)
