"""Reads a thread's keys, undecoded: a serialiser belongs to the saver."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from redis.asyncio import Redis

from jobs.redis.connection import ask
from worker.checkpoints.keys import ThreadKeys, encode
from worker.checkpoints.records import (
    PendingValue,
    StoredCheckpoint,
    Typed,
    ordered_writes,
    pairs,
    unpack,
)
from worker.checkpoints.scripts import ANCESTORS, READ

WALK = 100
"""The most ancestors that one script call visits: bounds how long it holds Redis."""


@dataclass(frozen=True, slots=True)
class Ancestor:
    """What one ancestor of a checkpoint gave to the channels that were asked for."""

    writes: list[PendingValue]
    seeds: dict[str, Typed]
    """Stored values, by encoded channel."""


class Reader:
    """Reads over one client. A checkpoint, or a walk's part, is one round trip.

    Raises jobs.errors.StoreUnavailable.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._read = redis.register_script(READ)
        self._ancestors = redis.register_script(ANCESTORS)

    async def checkpoint(
        self, keys: ThreadKeys, namespace: str, checkpoint_id: str
    ) -> StoredCheckpoint | None:
        """One checkpoint; '' is the newest of its namespace."""
        found = await ask(self._read(keys=[keys.index], args=[encode(namespace), checkpoint_id]))
        return StoredCheckpoint.from_reply(found) if found else None

    async def ancestors(
        self, keys: ThreadKeys, namespace: str, checkpoint_id: str, channels: Sequence[str]
    ) -> AsyncIterator[Ancestor]:
        """A checkpoint's ancestors (the newest one's, if the id is ''), nearest first.

        Ends where each channel has met a stored value, or at the root.
        """
        wanted = {encode(channel) for channel in channels}
        while wanted:
            walked = self._ancestors(
                keys=[keys.index], args=[encode(namespace), checkpoint_id, WALK, *wanted]
            )
            checkpoint, trail = await ask(walked)
            for flat_writes, flat_seeds in trail:
                seeds = {name.decode(): unpack(v) for name, v in pairs(flat_seeds).items()}
                wanted -= seeds.keys()
                yield Ancestor(ordered_writes(pairs(flat_writes)), seeds)
            checkpoint_id = checkpoint.decode()
            if not checkpoint_id:
                return

    async def names(self, keys: ThreadKeys) -> list[str]:
        """Index members of a thread."""
        return [name.decode() for name in await ask(self._redis.zrange(keys.index, 0, -1))]
