"""RateLimit: the port to how often a provider may be asked, by all workers together.

A provider counts by key, so every worker that has the key has to count with the others. All that
decides is in `Pace`; whoever keeps the past (a process, or Redis) goes through it alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from agents.models.errors import ModelUnavailable

LONGEST_HOLD_SECONDS = 24 * 3600.0


@runtime_checkable
class RateLimit(Protocol):
    """Whose turn it is. Models are named `provider:model`."""

    async def wait(self, model: str, tokens: int) -> None:
        """Wait until a request of about so many tokens may be sent; it is counted as sent.

        First come, first served. Raises ModelUnavailable, at once, where the wait would be too
        long. Whoever is cancelled leaves at once, too.
        """
        ...

    async def hold(self, model: str, seconds: float) -> None:
        """The provider wants to be left alone with this model: by all, and for so long."""
        ...


class NoLimit:
    """Implements RateLimit where nobody counts."""

    async def wait(self, model: str, tokens: int) -> None:
        """See RateLimit."""

    async def hold(self, model: str, seconds: float) -> None:
        """See RateLimit."""


@dataclass(frozen=True, slots=True)
class Pace:
    """So many `requests` and so many `tokens` (None: any number) in each `period_ms`."""

    requests: int | None
    tokens: int | None = None
    period_ms: int = 60_000

    def turn(self, past: Sequence[tuple[int, int]], now: int, tokens: int) -> int:
        """When the next request may be sent, in ms; pure. Redis decides alike.

        `past` are the turns that were given, newest first: when, and of how many tokens. No window
        of one period ever has more than the limit, and nobody overtakes.
        """
        at = max(now, past[0][0]) if past else now
        # alone, a request larger than the limit goes through: the provider has the last word
        total = tokens
        for place, (sent, size) in enumerate(past, start=1):
            free = sent + self.period_ms
            if free <= at:
                break
            total += size
            if self.requests is not None and place >= self.requests:
                return free
            if self.tokens is not None and total > self.tokens:
                return free
        return at


def too_long(model: str, seconds: float) -> ModelUnavailable:
    """The error of a wait beyond the bound."""
    said = f"{model} is not to be asked for another {seconds:.0f} s: its limit is used up"
    return ModelUnavailable(said, status=429, retry_after_seconds=seconds)
