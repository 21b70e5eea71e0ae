"""The workers that were seen lately, in one process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


class MemoryRoster:
    """Who works here."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._workers: dict[str, tuple[Mapping[str, Any], int]] = {}

    def announce(self, worker: str, facts: Mapping[str, Any], seconds: int) -> bool:
        """See Store. Nobody asks here."""
        now = self._clock()
        said = {**facts, "id": worker, "seen_at": now}
        self._workers[worker] = (said, now + max(seconds, 1) * 1000)
        return False

    def withdraw(self, worker: str) -> None:
        """See Store."""
        self._workers.pop(worker, None)

    def workers(self) -> Sequence[Mapping[str, Any]]:
        """See Store."""
        now = self._clock()
        seen = [said for said, until in self._workers.values() if until > now]
        return sorted(seen, key=lambda said: (said["seen_at"], said["id"]))
