"""RateLimit: the port to how often a provider may be asked, by all workers together.

A provider counts by key, so every worker that has the key has to count with the others. All that
decides is in `Pace`; a process and Redis keep the past alike.
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


SLOTS = 60
"""A period's turns are counted in so many slots, each as if all of it were sent at its last turn.
So a decision looks at 61 of them, however many requests a period may have, and a request goes up to
a sixtieth of the period later than it could."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Turns that were given close together: when the last is, and of how many requests and tokens
    they are."""

    last: int
    requests: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Pace:
    """So many `requests` and so many `tokens` (None: any number) in each `period_ms`."""

    requests: int | None
    tokens: int | None = None
    period_ms: int = 60_000

    @property
    def slot_ms(self) -> int:
        """How long a slot is."""
        return max(self.period_ms // SLOTS, 1)

    def turn(self, past: Sequence[Slot], now: int, tokens: int) -> int:
        """When the next request may be sent, in ms; pure. Redis decides alike.

        `past` are the slots of the turns that were given, newest first. No window of one period
        ever has more than the limit, and nobody overtakes.
        """
        at = max(now, past[0].last) if past else now
        # alone, a request larger than the limit goes through: the provider has the last word
        requests, total = 0, tokens
        for slot in past:
            free = slot.last + self.period_ms
            if free <= at:
                break
            requests, total = requests + slot.requests, total + slot.tokens
            if self.requests is not None and requests >= self.requests:
                return free
            if self.tokens is not None and total > self.tokens:
                return free
        return at

    def taken(self, past: Sequence[Slot], at: int, tokens: int) -> list[Slot]:
        """The slots with one more turn, without those that count no more."""
        kept = [slot for slot in past if slot.last + self.period_ms > at]
        if kept and kept[0].last // self.slot_ms == at // self.slot_ms:
            newest = kept.pop(0)
            return [Slot(at, newest.requests + 1, newest.tokens + tokens), *kept]
        return [Slot(at, 1, tokens), *kept]


def too_long(model: str, seconds: float) -> ModelUnavailable:
    """The error of a wait beyond the bound."""
    said = f"{model} is not to be asked for another {seconds:.0f} s: its limit is used up"
    return ModelUnavailable(said, status=429, retry_after_seconds=seconds)
