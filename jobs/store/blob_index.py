"""BlobIndex: which bytes are in use, so that the others can be removed.

Jobs refer to bytes by digest; `lua/commit.lua` counts the references in the same step as the write
that names them. Bytes are put before a job refers to them, so a writer pins them first, and pinned
bytes are not removed within the grace period. The index also closes the race between a put that
finds its bytes present and their removal: bytes that are being removed are marked, and a put waits
until the mark is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from redis.asyncio import Redis

from jobs.blobs.directory import Blobs, compute_digest
from jobs.errors import StoreUnavailable
from jobs.redis import keys
from jobs.redis.connection import await_redis, read_script, urgent_script

REMOVAL_MS = 60_000
"""How long a removal may take. A remover gives up after half of it."""
BUSY_SECONDS = 0.02
MAX_TRIES = 250


class RemovalBatch(NamedTuple):
    """Digests to be removed, and how many were checked to find them."""

    checked: int
    digests: Sequence[str]


class BlobIndex:
    """Raises StoreUnavailable when Redis cannot be reached in time."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._pin = redis.register_script(read_script("pin"))
        self._take = urgent_script(redis, read_script("collect"))
        self._restore = urgent_script(redis, read_script("restore"))

    async def pin(self, digests: Sequence[str]) -> Sequence[str]:
        """Keep these from being removed for the grace period.

        Returns those whose bytes are being removed right now: pin them again.
        """
        busy = await await_redis(self._pin(keys=[keys.UNREFERENCED, keys.DELETING], args=digests))
        return [digest.decode() for digest in busy]

    async def take_unreferenced(self, grace_ms: int, limit: int) -> RemovalBatch:
        """Take up to `limit` digests that no job refers to and that were not pinned for `grace_ms`.

        The caller removes their bytes within `REMOVAL_MS`, then calls `removed`, or `restore` for
        those that it could not remove.
        """
        names = [keys.UNREFERENCED, keys.REFERENCES, keys.DELETING]
        looked_at, digests = await await_redis(
            self._take(keys=names, args=[grace_ms, limit, REMOVAL_MS])
        )
        return RemovalBatch(int(looked_at), [digest.decode() for digest in digests])

    async def confirm_removal(self, digests: Sequence[str]) -> None:
        """The bytes of these are gone: they may be put again."""
        if digests:
            await await_redis(self._redis.hdel(keys.DELETING, *digests))

    async def restore(self, digests: Sequence[str]) -> None:
        """The bytes of these were not removed: treat them as put just now."""
        if digests:
            await await_redis(self._restore(keys=[keys.UNREFERENCED, keys.DELETING], args=digests))


class PinnedBlobs:
    """Blobs that pin what is put first (`pin`: see BlobIndex). `note` is called with each
    digest.
    """

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
        """See Blobs. Raises StoreUnavailable where the index cannot be asked."""
        digest = await compute_digest(content)
        for _ in range(MAX_TRIES):
            if not await self._pin([digest]):
                break
            await asyncio.sleep(BUSY_SECONDS)
        else:
            raise StoreUnavailable(f"the bytes of {digest} are being removed; try again")
        await self._blobs.put(content)
        self._record_digest(digest)
        return digest

    async def get(self, digest: str) -> bytes:
        """See Blobs."""
        return await self._blobs.get(digest)

    async def remove(self, digest: str) -> None:
        """See Blobs."""
        await self._blobs.remove(digest)

    async def probe(self) -> None:
        """See Blobs."""
        await self._blobs.probe()
