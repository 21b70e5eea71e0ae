"""BlobIndex: which bytes are in use, so that the others can be removed. A port and its memory twin.

Jobs refer to bytes by digest; the store counts who refers to what in the same step as the write
that names it. Bytes are put before anyone can refer to them, so whoever puts says so first
(`hold`), and nothing is removed that was held within the grace period. The race between a put that
finds its bytes present and their removal is closed by the index: what is being removed is marked,
and a put waits for the mark to go.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from jobs.blobs import Blobs, digest_of
from jobs.errors import StoreUnavailable

REMOVAL_MS = 60_000
"""How long a removal may take: a remover that is slower than half of it gives up by itself."""
BUSY_SECONDS = 0.02
MOST_TRIES = 250


class Taken(NamedTuple):
    """Digests to be removed, and how many were looked at to find them."""

    looked_at: int
    digests: Sequence[str]


class Holding(Protocol):
    """What whoever puts bytes needs of the index."""

    async def hold(self, digests: Sequence[str]) -> Sequence[str]:
        """Keep these from being removed for the grace period.

        Returns those whose bytes are being removed right now: ask for them again. Raises
        StoreUnavailable when it cannot be reached in time.
        """
        ...


class BlobIndex(Holding, Protocol):
    """Raises StoreUnavailable when it cannot be reached in time."""

    async def take(self, grace_ms: int, limit: int) -> Taken:
        """Take up to `limit` digests that nobody refers to, nor has held for `grace_ms`.

        Whoever takes them removes their bytes within `REMOVAL_MS`, then says `removed`; or
        `spared`, of those that cannot be.
        """
        ...

    async def removed(self, digests: Sequence[str]) -> None:
        """The bytes of these are gone: they may be put again."""
        ...

    async def spared(self, digests: Sequence[str]) -> None:
        """The bytes of these, which were taken, are still there: as if they were put just now."""
        ...


class MemoryBlobIndex:
    """The index of one process. `refer` and `let_go` are for the MemoryStore."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._by_job: dict[str, set[str]] = {}
        self._references: Counter[str] = Counter()
        self._loose: dict[str, int] = {}
        self._going: dict[str, int] = {}

    def refer(self, job_id: str, digests: Sequence[str]) -> None:
        """The job refers to these bytes from now on."""
        known = self._by_job.setdefault(job_id, set())
        self._references.update(set(digests) - known)
        known.update(digests)
        for digest in digests:
            self._loose.pop(digest, None)

    def inherit(self, job_id: str, parent_id: str) -> None:
        """The job refers to what another refers to."""
        self.refer(job_id, tuple(self._by_job.get(parent_id, ())))

    def let_go(self, job_id: str) -> None:
        """The job refers to nothing any more."""
        for digest in self._by_job.pop(job_id, ()):
            self._references[digest] -= 1
            if self._references[digest] <= 0:
                del self._references[digest]
                self._loose[digest] = self._clock()

    async def hold(self, digests: Sequence[str]) -> Sequence[str]:
        """See BlobIndex."""
        now = self._clock()
        busy = [digest for digest in digests if self._going.get(digest, 0) > now]
        for digest in set(digests) - set(busy):
            self._going.pop(digest, None)
            self._loose[digest] = now
        return busy

    async def take(self, grace_ms: int, limit: int) -> Taken:
        """See BlobIndex."""
        now = self._clock()
        for digest in [digest for digest, until in self._going.items() if until <= now]:
            del self._going[digest]
            self._loose[digest] = 0
        aged = sorted((since, digest) for digest, since in self._loose.items())
        old = [digest for since, digest in aged if since <= now - grace_ms][:limit]
        for digest in old:
            del self._loose[digest]
        taken = [digest for digest in old if digest not in self._references]
        self._going.update((digest, now + REMOVAL_MS) for digest in taken)
        return Taken(len(old), taken)

    async def removed(self, digests: Sequence[str]) -> None:
        """See BlobIndex."""
        for digest in digests:
            self._going.pop(digest, None)

    async def spared(self, digests: Sequence[str]) -> None:
        """See BlobIndex."""
        await self.removed(digests)
        self._loose.update(dict.fromkeys(digests, self._clock()))


class HeldBlobs:
    """Blobs whose puts are held in an index first, and noted for whoever is to refer to them.

    `note` is told each digest that was put.
    """

    def __init__(self, blobs: Blobs, index: Holding, note: Callable[[str], None]) -> None:
        self._blobs = blobs
        self._index = index
        self._note = note

    async def put(self, content: bytes) -> str:
        """See Blobs. Raises StoreUnavailable where the index cannot be asked."""
        digest = digest_of(content)
        for _ in range(MOST_TRIES):
            if not await self._index.hold([digest]):
                break
            await asyncio.sleep(BUSY_SECONDS)
        else:
            raise StoreUnavailable(f"the bytes of {digest} are being removed; try again")
        await self._blobs.put(content)
        self._note(digest)
        return digest

    async def get(self, digest: str) -> bytes:
        """See Blobs."""
        return await self._blobs.get(digest)

    async def remove(self, digest: str) -> None:
        """See Blobs."""
        await self._blobs.remove(digest)
