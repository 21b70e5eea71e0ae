"""What a provider's refusal has told of its model's context: for a time, and in this process."""

from __future__ import annotations

import time
from collections.abc import Callable

LEARNED_SECONDS = 900.0
"""A limit may be of a minute (Groq), of a plan or of a server that is started anew with a larger
context. One refused request in this time is what it costs to find out."""


class LearnedLimit:
    """The tokens of a request with its reply; the least of what was told within the time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._tokens = 0
        self._until = 0.0

    def note(self, tokens: int) -> None:
        """A request was refused, for there is room for no more than `tokens`."""
        self._tokens = min(tokens, self.tokens or tokens)
        self._until = self._clock() + LEARNED_SECONDS

    @property
    def tokens(self) -> int | None:
        """The limit; None where nothing was told, or not lately."""
        return self._tokens if self._clock() < self._until else None
