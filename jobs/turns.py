"""Turns: what one of the fleet does, while the others let it. The port, and its in-memory twin.

No lock: who was frozen behind a turn may meet the next one at the same work, and that must do no
harm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


def every(seconds: float) -> int:
    """The ms of a turn at what is done every so many seconds: a little less, so that who is alone
    always has the next turn."""
    return max(1, int(seconds * 900))


class Turns(Protocol):
    """Turns by name, by the store's time."""

    async def mine(self, name: str, ms: int) -> bool:
        """Whether what `name` stands for is the caller's to do: one caller's in every `ms`."""

    async def keep(self, name: str, ms: int) -> None:
        """Have a turn end `ms` from now; one that is over stays over."""


class MemoryTurns:
    """For one process; `clock` tells the time in ms."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._until: dict[str, int] = {}

    async def mine(self, name: str, ms: int) -> bool:
        """See Turns."""
        if self._lasts(name):
            return False
        self._until[name] = self._clock() + ms
        return True

    async def keep(self, name: str, ms: int) -> None:
        """See Turns."""
        if self._lasts(name):
            self._until[name] = self._clock() + ms

    def _lasts(self, name: str) -> bool:
        return self._until.get(name, 0) > self._clock()
