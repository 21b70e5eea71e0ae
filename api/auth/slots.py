"""Slots: how much of one kind goes on at the same time in one API process, of a key and of all.

Searches: what one may look at is bounded in `jobs.store.listing`; here, how many wait for their
turn. Event streams: each is a connection and some memory for as long as its reader likes.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

from api import problems
from api.problems import Kind, Refused


class Slots:
    """So many of a key, which is a 429 beyond them, and of all keys, which is a 503."""

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
            detail = f"the key has {self._of_a_key} under way, the most that it may have"
            raise Refused(too_many, detail, {"limit": self._of_a_key}, self._headers)
        if self._taken.total() >= self._of_all:
            detail = f"{self._of_all} are under way in this process"
            raise Refused(busy, detail, {"limit": self._of_all}, self._headers)

    @contextlib.contextmanager
    def held(self, key_id: str) -> Iterator[None]:
        """Count one more within the block: of what was checked before its answer began."""
        self._taken[key_id] += 1
        try:
            yield
        finally:
            self._taken -= Counter({key_id: 1})  # this drops those that have none left


def searches() -> Slots:
    """Lists that are searched for: with a text, what waits for a person, where filters meet."""
    return Slots(4, 16, problems.TOO_MANY_SEARCHES, problems.SEARCHES_BUSY, 1)


def streams() -> Slots:
    """Open event streams."""
    return Slots(500, 2_000, problems.TOO_MANY_STREAMS, problems.STREAMS_BUSY, 10)
