"""RedisBlobIndex: which bytes are in use, in plain Redis; `commit.lua` counts the references."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any, cast

from redis.asyncio import Redis

from jobs import keys
from jobs.blob_index import REMOVAL_MS, Taken
from jobs.redis_full import urgent_script
from jobs.redis_reach import reached
from jobs.redis_script import SCRIPTS


class RedisBlobIndex:
    """The BlobIndex on Redis."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._hold = redis.register_script((SCRIPTS / "hold.lua").read_text())
        self._take = urgent_script(redis, (SCRIPTS / "collect.lua").read_text())
        self._spare = urgent_script(redis, (SCRIPTS / "spare.lua").read_text())

    async def hold(self, digests: Sequence[str]) -> Sequence[str]:
        """See BlobIndex."""
        busy = await reached(self._hold(keys=[keys.LOOSE, keys.GOING], args=digests))
        return [digest.decode() for digest in busy]

    async def take(self, grace_ms: int, limit: int) -> Taken:
        """See BlobIndex."""
        places = [keys.LOOSE, keys.REFERENCES, keys.GOING]
        looked_at, digests = await reached(
            self._take(keys=places, args=[grace_ms, limit, REMOVAL_MS])
        )
        return Taken(int(looked_at), [digest.decode() for digest in digests])

    async def removed(self, digests: Sequence[str]) -> None:
        """See BlobIndex."""
        if digests:
            await reached(cast("Awaitable[Any]", self._redis.hdel(keys.GOING, *digests)))

    async def spared(self, digests: Sequence[str]) -> None:
        """See BlobIndex."""
        if digests:
            await reached(self._spare(keys=[keys.LOOSE, keys.GOING], args=digests))
