"""How long to wait before a process that died is started again."""

from __future__ import annotations

from dataclasses import dataclass, replace

FIRST_SECONDS = 0.5
MOST_SECONDS = 30.0
HEALTHY_SECONDS = 30.0
"""A process that lived this long had started well: the count begins anew."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Deaths in a row, and the wait that follows from them."""

    deaths: int = 0

    def died(self, lived_seconds: float) -> Backoff:
        """One more death."""
        return replace(self, deaths=1 if lived_seconds >= HEALTHY_SECONDS else self.deaths + 1)

    @property
    def seconds(self) -> float:
        """How long to wait now."""
        return float(min(FIRST_SECONDS * 2 ** (self.deaths - 1), MOST_SECONDS))
