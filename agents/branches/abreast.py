"""Abreast: branches at work side by side, in one attempt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Abreast:
    """One that fails waits for the others, and then passes its failure on.

    LangGraph stops what is under way beside a task that has failed. What a model is answering there
    is paid for, and would be asked once more.
    """

    def __init__(self) -> None:
        self._at_work = 0
        self._idle = asyncio.Event()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """A branch at work. One that is stopped from outside waits for nobody."""
        self._at_work += 1
        self._idle.clear()
        failed = False
        try:
            yield
        except Exception:
            failed = True
            raise
        finally:
            self._at_work -= 1
            if self._at_work == 0:
                self._idle.set()
            if failed:
                await self._idle.wait()
