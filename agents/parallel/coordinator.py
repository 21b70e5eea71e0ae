"""BranchCoordinator: branches at work side by side, in one attempt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class BranchCoordinator:
    """Where branches, known by their steps, wait for each other.

    One that fails waits for the others, and then passes its failure on: LangGraph stops what is
    under way beside a task that has failed, and what a model is answering there is paid for.
    """

    def __init__(self) -> None:
        self._at_work: set[int] = set()
        self._calling: set[int] = set()
        self._moved = asyncio.Event()
        self._moves = 0

    @property
    def moves(self) -> int:
        """How often a call or a branch has ended so far."""
        return self._moves

    @asynccontextmanager
    async def one(self, step: int) -> AsyncIterator[None]:
        """A branch at work. One that is stopped from outside waits for nobody."""
        self._at_work.add(step)
        failed = False
        try:
            yield
        except Exception:
            failed = True
            raise
        finally:
            self._at_work.discard(step)
            self.call_ends(step)
            while failed and self._at_work:
                await self._moved.wait()

    def call_begins(self, step: int) -> None:
        """A model is asked; a branch asks one at a time."""
        self._calling.add(step)

    def call_ends(self, step: int) -> None:
        """It is known what that has cost, as far as it will ever be."""
        self._calling.discard(step)
        self._moves += 1
        self._moved.set()
        self._moved = asyncio.Event()

    async def others_call_ends(self, step: int, since: int) -> bool:
        """Wait until the call of another branch may have ended, if none has `since` so many moves;
        False where none is under way."""
        if self._moves != since:
            return True
        if not self._calling - {step}:
            return False
        await self._moved.wait()
        return True
