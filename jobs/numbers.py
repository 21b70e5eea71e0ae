"""Numbers: what jobs add up to, by tenant and day: the port, and its form in memory.

They are kept as jobs end and reviews are decided, in the same atomic step; nothing is scanned
later. A day (UTC) is a flat table of counts by name: see `jobs.counting`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Protocol

DAYS_KEPT = 400

Counts = Mapping[str, int]


class Numbers(Protocol):
    """Where the counts of a day are kept, for DAYS_KEPT days; a Store adds to them."""

    async def days(self, tenant: str, days: Sequence[str]) -> Sequence[Counts]:
        """The counts of each of these days, as 2026-11-22."""
        ...


class MemoryNumbers:
    """The Numbers of one process."""

    def __init__(self) -> None:
        self._days: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def add(self, tenant: str, day: str, counts: Counts) -> None:
        """Count these."""
        if counts:
            self._days[tenant, day].update(counts)

    async def days(self, tenant: str, days: Sequence[str]) -> Sequence[Counts]:
        """See Numbers."""
        return [dict(self._days.get((tenant, day), {})) for day in days]


def day_of(ms: int) -> str:
    """The day (UTC) of a time."""
    return datetime.fromtimestamp(ms / 1000, UTC).date().isoformat()
