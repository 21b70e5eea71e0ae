"""Applying a step: `commit.lua`, also where Redis is at its `maxmemory`, for what must go on."""

from __future__ import annotations

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from jobs.redis_reach import reached, reaching
from jobs.redis_script import SCRIPTS, Step

ALTHOUGH_FULL = "#!lua flags=allow-oom,allow-cross-slot-keys\n"
"""Redis 7 lets a script that says so write beyond `maxmemory`. Older ones do not know the line."""


class Commit:
    """The script behind every write to a job."""

    def __init__(self, redis: Redis) -> None:
        text = (SCRIPTS / "commit.lua").read_text()
        self._apply = redis.register_script(text)
        self._apply_although_full = redis.register_script(ALTHOUGH_FULL + text)

    async def apply(self, step: Step) -> bool:
        """Whether all its guards held, and it was written. Raises StoreUnavailable."""
        applied, *_ = await reached(self._apply(keys=step.script_keys(), args=step.script_args()))
        return bool(applied)

    async def apply_although_full(self, step: Step) -> bool:
        """The same for a small step that lets go of something: an end, a decision, a cancel."""
        async with reaching():
            try:
                applied, *_ = await self._apply(keys=step.script_keys(), args=step.script_args())
            except ResponseError as full:
                if not is_full(full):
                    raise
                call = self._apply_although_full(keys=step.script_keys(), args=step.script_args())
                applied, *_ = await call
        return bool(applied)


def is_full(error: RedisError) -> bool:
    """Whether Redis refused a write because it is at its `maxmemory`."""
    return "OOM" in str(error) or "maxmemory" in str(error)
