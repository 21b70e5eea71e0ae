"""How the saver changes Redis: plain commands in one atomic step, by whoever owns the thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from redis.asyncio import Redis

Command = tuple[str | bytes | int | float, ...]
"""A Redis command and its arguments: `("HSET", key, field, value)`."""

Write = Callable[[str, Sequence[Command]], Awaitable[None]]
"""Applies the commands of one thread in one atomic step.

No command has more than 2,000 arguments or depends on another's answer. Raises when the writer no
longer owns the thread (its epoch is old); then none is applied.
"""


def unfenced(redis: Redis) -> Write:
    """A `Write` in MULTI/EXEC that asks nobody: for tests and for tools outside a job."""

    async def write(thread_id: str, commands: Sequence[Command]) -> None:  # noqa: ARG001
        async with redis.pipeline(transaction=True) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            await pipeline.execute()

    return write
