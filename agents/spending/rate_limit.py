"""Pace: how often all workers together may call a provider.

Providers count by key, so all workers with that key have to share one count. A script in Redis
decides, by the clock of Redis.
"""

from __future__ import annotations

from dataclasses import dataclass

from agents.errors import ErrorKind, ModelUnavailable

LONGEST_HOLD_SECONDS = 24 * 3600.0
SLOTS = 60
"""The requests of a period are counted in this many slots, each as if all of it were sent at the
time of its last request. A decision reads 61 slots for any number of requests, and a request can
be late by a sixtieth of the period."""


@dataclass(frozen=True, slots=True)
class Pace:
    """At most `requests` and `tokens` (None: unlimited) in each `period_ms`."""

    requests: int | None
    tokens: int | None = None
    period_ms: int = 60_000

    @property
    def slot_ms(self) -> int:
        """The length of a slot."""
        return max(self.period_ms // SLOTS, 1)


def too_long(model: str, seconds: float) -> ModelUnavailable:
    """The error of a wait beyond the bound."""
    message = f"{model} cannot be called for another {seconds:.0f} s: its rate limit is used up"
    provider = model.partition(":")[0]
    return ModelUnavailable(
        message,
        status=429,
        kind=ErrorKind.RATE,
        retry_after_seconds=seconds,
        providers=(provider,),
    )
