"""A Redis that takes no writes: at its `maxmemory`, without a disk. What must go on even then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redis.asyncio import Redis
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError

from jobs.redis_script import SCRIPTS, Command

ALTHOUGH_FULL = "#!lua flags=allow-oom,allow-cross-slot-keys\n"
"""A script that begins so may write beyond `maxmemory`. Redis knows the line from 7.0 on."""
WHY_NO_WRITES: Mapping[str, str] = {
    "MISCONF": "it cannot write to its disk",
    "READONLY": "it is a replica",
    "NOREPLICAS": "too few replicas follow it",
}
"""By the code that begins Redis' answer."""


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


def why_no_writes(error: RedisError) -> str:
    """Why Redis refused a write that it would refuse to anybody; empty where it did not. Of a code
    that redis-py knows it takes the word out of the text."""
    said = f"{getattr(error, 'status_code', '')} {error}"
    return next((why for code, why in WHY_NO_WRITES.items() if code in said), "")
