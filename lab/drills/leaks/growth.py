"""What has grown, from counts before and after and from memory along the way. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MIB = 1024 * 1024
ALLOWED_BYTES = 4 * MIB
"""Growth of memory, along the whole line, that is an allocator's noise."""
WARM_PART = 0.25
"""The first part of a line is left out: caches fill, an allocator finds its size."""


@dataclass(frozen=True, slots=True)
class CountRow:
    """One thing counted: at rest before and after, and when all is closed; None: not counted."""

    label: str
    before: int
    after: int
    closed: int
    first: int

    @property
    def grown(self) -> bool:
        """Whether there is more than before, or anything is left when all is closed."""
        return self.after > self.before or self.closed > self.first


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident bytes along the way, evenly spaced."""

    label: str
    line: Sequence[int]

    @property
    def growth(self) -> float:
        """Bytes over the whole line, by the slope after its warm part."""
        return slope(self.line[int(len(self.line) * WARM_PART) :]) * (len(self.line) - 1)

    @property
    def grown(self) -> bool:
        """Whether that is more than noise."""
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
    """The change from one value to the next, by least squares; 0 of fewer than two."""
    if len(line) < 2:
        return 0.0
    return statistics.linear_regression(range(len(line)), line).slope
