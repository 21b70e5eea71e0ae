"""CircuitBreaker: which models were unavailable a moment ago, so that calls skip them."""

from __future__ import annotations

import time
from collections.abc import Callable

from agents.errors import ModelUnavailable

_REST_SECONDS = 15.0
"""A model that failed after all retries is skipped for so long, if there is a fallback. Then one
call tries it again."""
_LONGEST_REST_SECONDS = 300.0


class CircuitBreaker:
    """For one process; workers do not share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[str, tuple[float, str]] = {}

    def note(self, name: str, error: ModelUnavailable) -> None:
        """`name` did not answer."""
        wait = error.retry_after_seconds or 0.0
        pause = min(max(wait, _REST_SECONDS), _LONGEST_REST_SECONDS)
        self._until[name] = (self._clock() + pause, str(error))

    def skip_reason(self, name: str) -> str | None:
        """Why `name` should be skipped now, or None."""
        until, why = self._until.get(name, (0.0, ""))
        if self._clock() >= until:
            self._until.pop(name, None)
            return None
        return f"it was unavailable a moment ago: {why}"
