"""Applying a step: `commit.lua`, also where Redis is at its `maxmemory`, for what must go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis.asyncio import Redis
from redis.commands.core import AsyncScript

from jobs.errors import StoreUnavailable
from jobs.redis_full import urgent_script
from jobs.redis_reach import reaching
from jobs.redis_script import SCRIPTS, Argument, Step

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
        self._urgent = urgent_script(redis, text)

    async def apply(self, step: Step) -> bool:
        """Whether all its guards held, and it was written. Raises StoreUnavailable."""
        return await self._run(self._script, step)

    async def apply_although_full(self, step: Step) -> bool:
        """The same for small steps that let go of something, or say what it has cost: every change
        of a record but a claim (an end, a pause, a decision, a cancel, a job given back or swept),
        its removal, and charges. A new job, a claim and what an attempt has worked out wait for
        room.
        """
        return await self._run(self._urgent, step)

    async def _run(self, script: AsyncScript, step: Step) -> bool:
        applied, *_ = await self.durably(script, step.script_keys(), step.script_args())
        return bool(applied)

    async def durably(
        self, script: AsyncScript, names: Sequence[str], args: Sequence[Argument]
    ) -> Any:
        """What a script answers whose writes count once the replicas have them."""
        async with reaching():
            if self._replicas == 0:
                return await script(keys=names, args=args)
            async with self._redis.client() as one:  # WAIT is for what its own connection has asked
                answer = await script(keys=names, args=args, client=one)
                have = await one.wait(self._replicas, REPLICATED_MS)
        if have < self._replicas:
            raise StoreUnavailable(f"{have} of {self._replicas} replicas have the write")
        return answer
