"""Welcome: whether the reader of an open stream may still read it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable


class Welcome:
    """Asks anew once in `seconds` at most: a stream outlives the request that it was allowed by."""

    def __init__(self, ask: Callable[[], Awaitable[bool]], seconds: float) -> None:
        self._ask = ask
        self._seconds = seconds
        self._asked = time.monotonic()

    async def lasts(self) -> bool:
        """Whether the key, and the session, are still good. Raises StoreUnavailable."""
        if time.monotonic() - self._asked < self._seconds:
            return True
        self._asked = time.monotonic()
        return await self._ask()
