"""BranchCoordinator: lets the parallel branches of one attempt wait for each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class BranchCoordinator:
    """Branches are known by their steps.

    A branch that fails waits for the others before it raises. LangGraph cancels the tasks parallel
    to a failed one, and the model calls in them are already paid for.
    """

    def __init__(self) -> None:
        self._at_work: set[int] = set()
        self._calling: set[int] = set()
        self._moved = asyncio.Event()
        self._moves = 0

    @property
    def moves(self) -> int:
        """How many calls or branches have ended so far."""
        return self._moves

    @asynccontextmanager
    async def one(self, step: int) -> AsyncIterator[None]:
        """Run a branch. One that is cancelled from outside does not wait."""
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
        """A model call of the branch starts; a branch makes one at a time."""
        self._calling.add(step)

    def call_ends(self, step: int) -> None:
        """The call's cost is known, as far as it ever will be."""
        self._calling.discard(step)
        self._moves += 1
        self._moved.set()
        self._moved = asyncio.Event()

    async def others_call_ends(self, step: int, since: int) -> bool:
        """Wait until a call of another branch may have ended, unless one has `since` so many moves;
        False if none is running."""
        if self._moves != since:
            return True
        if not self._calling - {step}:
            return False
        await self._moved.wait()
        return True
