"""How many searches go on at the same time in one API process: of a key, and of all keys.

What one search may look at is bounded in `jobs.redis_listing`; here, how many wait for their turn.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import AsyncIterator

from api import problems
from api.problems import Refused

OF_A_KEY = 4
OF_ALL = 16
RETRY_SECONDS = "1"


class Searches:
    """Slots, which a search holds until its answer is there."""

    def __init__(self, of_a_key: int = OF_A_KEY, of_all: int = OF_ALL) -> None:
        self._of_a_key = of_a_key
        self._of_all = of_all
        self._under_way: Counter[str] = Counter()

    @contextlib.asynccontextmanager
    async def slot(self, key_id: str, *, searches: bool = True) -> AsyncIterator[None]:
        """Hold a slot within the block, if the request `searches`. Raises Refused: 429, 503."""
        if not searches:
            yield
            return
        self._check(key_id)
        self._under_way[key_id] += 1
        try:
            yield
        finally:
            self._under_way -= Counter({key_id: 1})  # this drops those that have none left

    def _check(self, key_id: str) -> None:
        headers = {"Retry-After": RETRY_SECONDS}
        if self._under_way[key_id] >= self._of_a_key:
            detail = f"the key has {self._of_a_key} searches under way, the most that it may have"
            raise Refused(problems.TOO_MANY_SEARCHES, detail, {"limit": self._of_a_key}, headers)
        if self._under_way.total() >= self._of_all:
            detail = f"{self._of_all} searches are under way: ask again in a moment"
            raise Refused(problems.SEARCHES_BUSY, detail, {"limit": self._of_all}, headers)
