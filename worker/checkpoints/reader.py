"""Reads a thread's keys, undecoded: a serialiser belongs to the saver."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import dataclass
from typing import cast

from redis.asyncio import Redis

from jobs.store.connection import ask
from worker.checkpoints.keys import ThreadKeys, encode
from worker.checkpoints.records import (
    CHECKPOINT,
    METADATA,
    PARENT,
    VALUES,
    PendingValue,
    StoredCheckpoint,
    Typed,
    ordered_writes,
    pairs,
    unpack,
)
from worker.checkpoints.scripts import ANCESTORS, READ

PAGE = 20
"""The most checkpoints that one script call answers, with all their values."""
WALK = 100
"""The most ancestors that one script call visits: bounds how long it holds Redis."""


@dataclass(frozen=True, slots=True)
class Ancestor:
    """What one ancestor of a checkpoint gave to the channels that were asked for."""

    writes: list[PendingValue]
    seeds: dict[str, Typed]
    """Stored values, by encoded channel."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A checkpoint without its values and writes."""

    name: str
    """Its index member."""
    parent_id: str | None
    value_names: frozenset[str]
    checkpoint: Typed | None
    """None where only pending writes are there; then `metadata` is None too."""
    metadata: Typed | None


class Reader:
    """Reads over one client. A page, or a walk's part, is one round trip.

    Raises jobs.errors.StoreUnavailable.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._read = redis.register_script(READ)
        self._ancestors = redis.register_script(ANCESTORS)

    async def newest(self, keys: ThreadKeys, namespace: str) -> StoredCheckpoint | None:
        """The newest checkpoint of a namespace."""
        found = await ask(self._read(keys=[keys.index], args=["newest", encode(namespace)]))
        return StoredCheckpoint.from_reply(found[0]) if found else None

    async def named(
        self, keys: ThreadKeys, names: Sequence[str], page_size: int = PAGE
    ) -> AsyncIterator[tuple[str, StoredCheckpoint]]:
        """Those of the named checkpoints that exist, with their names, in the order given."""
        for start in range(0, len(names), page_size):
            page = names[start : start + page_size]
            found = await ask(self._read(keys=[keys.index], args=["named", *page]))
            for name, reply in zip(page, found, strict=True):
                if reply is not None:
                    yield name, StoredCheckpoint.from_reply(reply)

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

    async def names(self, keys: ThreadKeys, namespace: str | None = None) -> list[str]:
        """Index members of a thread or of one namespace, newest of each namespace first."""
        if namespace is None:
            stored = self._redis.zrange(keys.index, 0, -1)
        else:
            prefix = encode(namespace).encode() + b":"
            stored = self._redis.zrangebylex(keys.index, b"[" + prefix, b"(" + prefix + b"\xff")
        reply = await ask(stored)
        return [name.decode() for name in reversed(cast("list[bytes]", reply))]

    async def outlines(self, keys: ThreadKeys) -> list[Outline]:
        """All checkpoints of a thread, newest of each namespace first. Two round trips."""
        names = await self.names(keys)
        async with self._redis.pipeline(transaction=False) as pipeline:
            for name in names:
                pipeline.hmget(keys.checkpoint(name), [CHECKPOINT, METADATA, PARENT, VALUES])
            rows = await ask(pipeline.execute())
        return [_outline(name, row) for name, row in zip(names, rows, strict=True)]

    async def members(self, key: str) -> list[str]:
        """A set's members, sorted."""
        stored = cast("Awaitable[set[bytes]]", self._redis.smembers(key))
        return sorted(name.decode() for name in await ask(stored))


def _outline(name: str, row: list[bytes | None]) -> Outline:
    checkpoint, metadata, parent, names = row
    return Outline(
        name=name,
        parent_id=None if parent is None else parent.decode(),
        value_names=frozenset((names or b"").decode().split()),
        checkpoint=None if checkpoint is None else unpack(checkpoint),
        metadata=None if metadata is None else unpack(metadata),
    )
