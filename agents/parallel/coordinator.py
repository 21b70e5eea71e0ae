"""BranchCoordinator: lets the parallel branches of one attempt wait for each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class BranchCoordinator:
    """A branch that fails waits for the others before it raises. LangGraph cancels the tasks
    parallel to a failed one, and the model calls in them are already paid for."""

    def __init__(self) -> None:
        self._at_work: dict[int, asyncio.Event] = {}

    @asynccontextmanager
    async def one(self, step: int) -> AsyncIterator[None]:
        """Run the branch of a step. One that is cancelled from outside does not wait."""
        ended = self._at_work[step] = asyncio.Event()
        try:
            yield
        except Exception:
            self._leave(step, ended)
            for other in list(self._at_work.values()):
                await other.wait()
            raise
        finally:
            self._leave(step, ended)

    def _leave(self, step: int, ended: asyncio.Event) -> None:
        self._at_work.pop(step, None)
        ended.set()
