"""BlobIndex: which bytes are in use, so that unused bytes can be removed.

Jobs refer to bytes by digest. `lua/commit.lua` counts the references in the same step as the write
that names the digests. Bytes are stored before a job refers to them, so a writer pins them first,
and pinned bytes are not removed within the grace period. If bytes are being removed, their digest
is marked, and a writer that wants to store them again waits until the mark is removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple

from redis.asyncio import Redis

from jobs.blobs.directory import Blobs, compute_digest
from jobs.errors import StoreUnavailable
from jobs.redis import keys
from jobs.redis.connection import await_redis, read_script, urgent_script

REMOVAL_MS = 60_000
"""How long a removal may take. A worker gives up after half of this time."""
BUSY_SECONDS = 0.02
MAX_TRIES = 250


class RemovalBatch(NamedTuple):
    """Digests to be removed."""

    checked: int
    """The number of digests that were checked."""
    digests: Sequence[str]


class BlobIndex:
    """The index of references. Raises StoreUnavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._pin = redis.register_script(read_script("pin"))
        self._take = urgent_script(redis, read_script("collect"))
        self._restore = urgent_script(redis, read_script("restore"))

    async def pin(self, digests: Sequence[str]) -> Sequence[str]:
        """Keep these digests from being removed within the grace period.

        Returns the digests of bytes that are being removed at this moment: pin them again.
        """
        busy = await await_redis(self._pin(keys=[keys.UNREFERENCED, keys.DELETING], args=digests))
        return [digest.decode() for digest in busy]

    async def take_unreferenced(self, grace_ms: int, limit: int) -> RemovalBatch:
        """Take up to `limit` digests without a reference that were not pinned for `grace_ms`.

        The caller removes their bytes within `REMOVAL_MS`. Then it calls `confirm_removal`, or
        `restore` for bytes that it could not remove.
        """
        names = [keys.UNREFERENCED, keys.REFERENCES, keys.DELETING]
        looked_at, digests = await await_redis(
            self._take(keys=names, args=[grace_ms, limit, REMOVAL_MS])
        )
        return RemovalBatch(int(looked_at), [digest.decode() for digest in digests])

    async def confirm_removal(self, digests: Sequence[str]) -> None:
        """Allow that these bytes, which were removed, are stored again."""
        if digests:
            await await_redis(self._redis.hdel(keys.DELETING, *digests))

    async def restore(self, digests: Sequence[str]) -> None:
        """Treat these bytes, which could not be removed, as stored just now."""
        if digests:
            await await_redis(self._restore(keys=[keys.UNREFERENCED, keys.DELETING], args=digests))


class PinnedBlobs:
    """Blobs that pin bytes before they store them. `record_digest` is called with each digest.
    `pin`: see BlobIndex."""

    def __init__(
        self,
        blobs: Blobs,
        pin: Callable[[Sequence[str]], Awaitable[Sequence[str]]],
        record_digest: Callable[[str], None],
    ) -> None:
        self._blobs = blobs
        self._pin = pin
        self._record_digest = record_digest

    async def put(self, content: bytes) -> str:
        """See Blobs. Raises StoreUnavailable if Redis does not answer."""
        [digest] = await self.put_all([content])
        return digest

    async def put_all(self, contents: Collection[bytes]) -> list[str]:
        """See Blobs. Raises StoreUnavailable if Redis does not answer."""
        if not contents:
            return []
        digests = [await compute_digest(content) for content in contents]
        unpinned: Sequence[str] = digests
        for _ in range(MAX_TRIES):
            unpinned = await self._pin(unpinned)
            if not unpinned:
                break
            await asyncio.sleep(BUSY_SECONDS)
        else:
            raise StoreUnavailable(f"the bytes of {unpinned[0]} are being removed; try again")
        await self._blobs.put_all(contents)
        for digest in digests:
            self._record_digest(digest)
        return digests

    async def get(self, digest: str) -> bytes:
        """See Blobs."""
        return await self._blobs.get(digest)

    async def remove(self, digest: str) -> None:
        """See Blobs."""
        await self._blobs.remove(digest)

    async def probe(self) -> None:
        """See Blobs."""
        await self._blobs.probe()
