"""Turn: one tool call at a time, in the order in which they came."""

from __future__ import annotations

import asyncio
from types import TracebackType


class Turn:
    """A lock of one attempt. Who waits while another fails, fails with the same exception.

    Otherwise a call that came later would slip in before the graph stops, and would be made before
    the failed one when that is tried again.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._failure: BaseException | None = None

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        if self._failure is not None:
            self._lock.release()
            raise self._failure

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._failure = failure
        self._lock.release()
