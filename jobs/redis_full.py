"""A Redis that takes no writes: at its `maxmemory`, without a disk. What must go on even then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from jobs.redis_script import SCRIPTS, Argument, Command

ALTHOUGH_FULL = "#!lua flags=allow-oom,allow-cross-slot-keys\n"
"""Redis 7 lets a script that says so write beyond `maxmemory`. Older ones do not know the line."""
READ_ONLY = ("MISCONF", "READONLY", "NOREPLICAS")


class UrgentScript:
    """A script for small writes that let go of something or keep it alive: run in any case."""

    def __init__(self, redis: Redis, text: str) -> None:
        self._usual = redis.register_script(text)
        self._although_full = redis.register_script(ALTHOUGH_FULL + text)

    async def __call__(
        self, keys: Sequence[str], args: Sequence[Argument], client: Redis | None = None
    ) -> Any:
        """What the script answers. Raises redis' errors."""
        try:
            return await self._usual(keys=keys, args=args, client=client)
        except ResponseError as error:
            if not is_full(error):
                raise
        return await self._although_full(keys=keys, args=args, client=client)


class UrgentCommands:
    """Commands that let go of something, in one atomic step: run in any case.

    A Redis that is full takes none within MULTI, not even those that it takes outside.
    """

    def __init__(self, redis: Redis) -> None:
        self._script = UrgentScript(redis, (SCRIPTS / "together.lua").read_text())

    async def __call__(self, commands: Sequence[Command]) -> None:
        """Raises redis' errors."""
        await self._script([], [part for each in commands for part in (len(each), *each)])


def is_full(error: RedisError) -> bool:
    """Whether Redis refused a write because it is at its `maxmemory`."""
    return "OOM" in str(error) or "maxmemory" in str(error)


def takes_no_writes(error: RedisError) -> bool:
    """Whether Redis refused a write that it would refuse to anybody, while it still answers."""
    return is_full(error) or any(word in str(error) for word in READ_ONLY)
