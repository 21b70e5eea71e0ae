"""Limits on what runs at a time in one API process, by key and in total: searches and event streams
are refused beyond them (`Slots`), uploads wait (`Turns`).

What one search may read is bounded in `jobs.store.listing`. An event stream holds a connection and
some memory for as long as its reader likes. An upload holds its files in memory.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from weakref import WeakValueDictionary

from api import problems
from api.problems import Kind, Refused


class Slots:
    """Beyond the limit of a key: 429. Beyond the limit of all keys: 503."""

    def __init__(self, of_a_key: int, of_all: int, too_many: Kind, busy: Kind, wait: int) -> None:
        self._of_a_key = of_a_key
        self._of_all = of_all
        self._kinds = (too_many, busy)
        self._headers = {"Retry-After": str(wait)}
        self._taken: Counter[str] = Counter()

    @contextlib.contextmanager
    def slot(self, key_id: str) -> Iterator[None]:
        """Hold a slot within the block. Raises Refused: 429, 503."""
        self.check(key_id)
        with self.held(key_id):
            yield

    def check(self, key_id: str) -> None:
        """Raise Refused, 429 or 503, where no slot is free."""
        too_many, busy = self._kinds
        if self._taken[key_id] >= self._of_a_key:
            detail = f"the key has reached its limit of {self._of_a_key}"
            raise Refused(too_many, detail, {"limit": self._of_a_key}, self._headers)
        if self._taken.total() >= self._of_all:
            detail = f"this process has reached its limit of {self._of_all}"
            raise Refused(busy, detail, {"limit": self._of_all}, self._headers)

    @contextlib.contextmanager
    def held(self, key_id: str) -> Iterator[None]:
        """Count one more within the block, without a check: `check` came before the answer."""
        self._taken[key_id] += 1
        try:
            yield
        finally:
            self._taken -= Counter({key_id: 1})  # this drops those that have none left


class Turns:
    """Beyond the limit of a key, or of all keys, who asks waits."""

    def __init__(self, of_a_key: int, of_all: int) -> None:
        self._of_a_key, self._all = of_a_key, asyncio.Semaphore(of_all)
        self._keys: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def turn(self, key_id: str) -> AsyncIterator[None]:
        """Hold a turn within the block. A key waits for its own turns first, so that its slow
        uploads leave room for others."""
        of_key = self._keys.setdefault(key_id, asyncio.Semaphore(self._of_a_key))
        async with of_key, self._all:
            yield


def searches() -> Slots:
    """Lists with a text, with `waiting`, or with two filters."""
    return Slots(4, 16, problems.TOO_MANY_SEARCHES, problems.SEARCHES_BUSY, 1)


def streams() -> Slots:
    """Open event streams."""
    return Slots(500, 2_000, problems.TOO_MANY_STREAMS, problems.STREAMS_BUSY, 10)


def uploads() -> Turns:
    """Bodies with files of any kind."""
    return Turns(2, 8)
