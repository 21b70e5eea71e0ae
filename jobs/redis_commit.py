"""Applying a step: `commit.lua`, also where Redis is at its `maxmemory`, for what must go on."""

from __future__ import annotations

from redis.asyncio import Redis
from redis.commands.core import AsyncScript
from redis.exceptions import RedisError, ResponseError

from jobs.errors import StoreUnavailable
from jobs.redis_reach import reaching
from jobs.redis_script import SCRIPTS, Step

ALTHOUGH_FULL = "#!lua flags=allow-oom,allow-cross-slot-keys\n"
"""Redis 7 lets a script that says so write beyond `maxmemory`. Older ones do not know the line."""
REPLICATED_MS = 1_000
"""How long replicas may take to have a write; less than an answer of Redis may take."""


class Commit:
    """The script behind every write to a job.

    `replicas`: how many of them must have a step before it counts (WAIT). It is applied on the
    primary even where they do not have it in time: then nobody is told so, and who asks again
    finds it there, and waits for them again.
    """

    def __init__(self, redis: Redis, replicas: int = 0) -> None:
        text = (SCRIPTS / "commit.lua").read_text()
        self._redis = redis
        self._replicas = replicas
        self._script = redis.register_script(text)
        self._although_full = redis.register_script(ALTHOUGH_FULL + text)

    async def apply(self, step: Step) -> bool:
        """Whether all its guards held, and it was written. Raises StoreUnavailable."""
        async with reaching():
            return await self._run(self._script, step)

    async def apply_although_full(self, step: Step) -> bool:
        """The same for a small step that lets go of something: an end, a decision, a cancel."""
        async with reaching():
            try:
                return await self._run(self._script, step)
            except ResponseError as full:
                if not is_full(full):
                    raise
                return await self._run(self._although_full, step)

    async def _run(self, script: AsyncScript, step: Step) -> bool:
        if self._replicas == 0:
            applied, *_ = await script(keys=step.script_keys(), args=step.script_args())
            return bool(applied)
        async with self._redis.client() as one:  # WAIT is for what its own connection has asked
            applied, *_ = await script(keys=step.script_keys(), args=step.script_args(), client=one)
            have = await one.wait(self._replicas, REPLICATED_MS)
        if have < self._replicas:
            raise StoreUnavailable(f"{have} of {self._replicas} replicas have the write")
        return bool(applied)


def is_full(error: RedisError) -> bool:
    """Whether Redis refused a write because it is at its `maxmemory`."""
    return "OOM" in str(error) or "maxmemory" in str(error)
