"""Access: whether the reader of an open stream may still read it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable

RECHECK_SECONDS = 2.0
"""So long at most an open stream goes on carrying something after its key was revoked. In
docs/operations.md."""


class AccessRecheck:
    """Checks before a chunk, every `RECHECK_SECONDS` at most, whether the reader may still read: a
    stream outlives the request that it was allowed by."""

    def __init__(self, allowed: Callable[[], Awaitable[bool]]) -> None:
        self._allowed = allowed
        self._asked = time.monotonic()

    async def guard(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The chunks, events and tokens alike, until the key or the session is not good any more.

        Raises StoreUnavailable.
        """
        async for chunk in chunks:
            if not await self._lasts():
                return
            yield chunk

    async def _lasts(self) -> bool:
        now = time.monotonic()
        if now - self._asked < RECHECK_SECONDS:
            return True
        self._asked = now
        return await self._allowed()
