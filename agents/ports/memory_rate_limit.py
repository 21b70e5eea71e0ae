"""MemoryRateLimit: the limit of one process, for tests and for a graph without a service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from agents.spending.rate_limit import LONGEST_HOLD_SECONDS, Pace, Slot, too_long


class MemoryRateLimit:
    """Implements RateLimit; `paces` are by provider."""

    def __init__(self, paces: Mapping[str, Pace], most_seconds: float = 600.0) -> None:
        self._paces = paces
        self._most_seconds = most_seconds
        self._past: dict[str, list[Slot]] = {}
        self._held: dict[str, int] = {}

    async def wait(self, model: str, tokens: int) -> None:
        """See RateLimit."""
        ends = _now() + int(self._most_seconds * 1000)
        while (left := self._given(model, tokens, ends) - _now()) > 0:
            await asyncio.sleep(left / 1000)
            if self._held.get(model, 0) <= _now():
                return

    def _given(self, model: str, tokens: int, ends: int) -> int:
        """When its turn is, in ms. Raises ModelUnavailable."""
        provider = model.partition(":")[0]
        at = max(_now(), self._held.get(model, 0))
        pace = self._paces.get(provider)
        past = self._past.setdefault(provider, [])
        if pace is not None:
            at = pace.turn(past, at, tokens)
        if at > ends:
            raise too_long(model, (at - _now()) / 1000)
        if pace is not None:
            self._past[provider] = pace.taken(past, at, tokens)
        return at

    async def hold(self, model: str, seconds: float) -> None:
        """See RateLimit."""
        until = _now() + int(min(seconds, LONGEST_HOLD_SECONDS) * 1000)
        self._held[model] = max(self._held.get(model, 0), until)


def _now() -> int:
    return int(time.monotonic() * 1000)
