"""Slots: a limit on concurrent searches or event streams in one API process, by key and in total.

What one search may read is bounded in `jobs.store.listing`. An event stream holds a connection and
some memory for as long as its reader likes.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator

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


def searches() -> Slots:
    """Lists with a text, with `waiting`, or with two filters."""
    return Slots(4, 16, problems.TOO_MANY_SEARCHES, problems.SEARCHES_BUSY, 1)


def streams() -> Slots:
    """Open event streams."""
    return Slots(500, 2_000, problems.TOO_MANY_STREAMS, problems.STREAMS_BUSY, 10)
