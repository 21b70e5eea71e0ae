"""The growth between counts before and after, and of memory during the runs. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MIB = 1024 * 1024
ALLOWED_BYTES = 4 * MIB
"""Growth of memory over all readings, in bytes, that may be noise of an allocator."""
WARM_PART = 0.25
"""The share of first readings that are ignored: caches fill, and an allocator finds its size."""


@dataclass(frozen=True, slots=True)
class CountRow:
    """One count at rest before and after, and after everything was closed; None: not counted."""

    label: str
    before: int
    after: int
    closed: int
    first: int

    @property
    def grown(self) -> bool:
        """Whether the count is larger than before, or not zero after everything was closed."""
        return self.after > self.before or self.closed > self.first


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident bytes during the runs, at equal intervals."""

    label: str
    line: Sequence[int]

    @property
    def growth(self) -> float:
        """Growth in bytes over all readings, by the slope after the warm-up."""
        return slope(self.line[int(len(self.line) * WARM_PART) :]) * (len(self.line) - 1)

    @property
    def grown(self) -> bool:
        """Whether the growth is more than noise."""
        return self.growth > ALLOWED_BYTES


def rows(
    first: Mapping[str, int],
    before: Mapping[str, int],
    after: Mapping[str, int],
    closed: Mapping[str, int],
) -> list[CountRow]:
    """`first`: before anything was opened; `before` and `after`: at rest; `closed`: at the end."""
    return [
        CountRow(label, before[label], after[label], closed[label], first[label])
        for label in before
    ]


def slope(line: Sequence[int]) -> float:
    """The change from one value to the next, by least squares; 0 for fewer than two values."""
    if len(line) < 2:
        return 0.0
    return statistics.linear_regression(range(len(line)), line).slope
