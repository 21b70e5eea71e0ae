"""How the saver changes Redis: plain commands in one atomic step, by whoever owns the thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from redis.asyncio import Redis

from jobs.store.connection import UrgentCommands, ask

Command = tuple[str | bytes | int | float, ...]
"""A Redis command and its arguments: `("HSET", key, field, value)`."""

Write = Callable[[str, Sequence[Command]], Awaitable[None]]
"""Applies the commands of one thread in one atomic step.

No command has more than 2,000 arguments or depends on another's answer. Raises when the writer no
longer owns the thread (its epoch is old); then none is applied.
"""


def unfenced(redis: Redis) -> Write:
    """A `Write` that asks nobody, for tests and for what is done outside a job: threads that are
    removed, above all from a Redis that is full. Raises jobs.errors.StoreUnavailable.
    """
    urgently = UrgentCommands(redis)

    async def write(thread_id: str, commands: Sequence[Command]) -> None:  # noqa: ARG001
        await ask(urgently(commands))

    return write
