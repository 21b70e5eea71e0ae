"""A Redis that takes no writes: at its `maxmemory`, without a disk. What must go on even then."""

from __future__ import annotations

from collections.abc import Sequence

from redis.asyncio import Redis
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError

from jobs.redis_script import SCRIPTS, Command

ALTHOUGH_FULL = "#!lua flags=allow-oom,allow-cross-slot-keys\n"
"""A script that begins so may write beyond `maxmemory`. Redis knows the line from 7.0 on."""
READ_ONLY = ("MISCONF", "READONLY", "NOREPLICAS")


def urgent_script(redis: Redis, text: str) -> AsyncScript:
    """A script for small writes that free something or keep it alive: it runs in any case."""
    return redis.register_script(ALTHOUGH_FULL + text)


class UrgentCommands:
    """Commands that free something, in one atomic step: run in any case.

    A Redis that is full takes none within MULTI, not even those that it takes outside.
    """

    def __init__(self, redis: Redis) -> None:
        self._script = urgent_script(redis, (SCRIPTS / "together.lua").read_text())

    async def __call__(self, commands: Sequence[Command]) -> None:
        """Raises redis' errors."""
        await self._script(keys=[], args=[part for each in commands for part in (len(each), *each)])


def is_full(error: RedisError) -> bool:
    """Whether Redis refused a write because it is at its `maxmemory`."""
    return "OOM" in str(error) or "maxmemory" in str(error)


def takes_no_writes(error: RedisError) -> bool:
    """Whether Redis refused a write that it would refuse to anybody, while it still answers."""
    return is_full(error) or any(word in str(error) for word in READ_ONLY)
