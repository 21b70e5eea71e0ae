"""AccessRecheck: ends an open stream whose reader has lost access."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable

RECHECK_SECONDS = 2.0
"""The longest time that an open stream still sends data after its key was revoked. Documented in
docs/operations.md."""


class AccessRecheck:
    """Checks before a chunk, at most every `RECHECK_SECONDS`, whether the reader still has access:
    a stream outlives the check of its request."""

    def __init__(self, allowed: Callable[[], Awaitable[bool]]) -> None:
        self._allowed = allowed
        self._asked = time.monotonic()

    async def guard(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The chunks, events and tokens alike, while the key and the session are valid.

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
