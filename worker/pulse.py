"""Pulse: whether an event loop still gets on, asked from another thread."""

from __future__ import annotations

from collections.abc import Callable

Ask = Callable[[Callable[[], None]], object]
"""Has a loop call something, from any thread: `loop.call_soon_threadsafe`."""


class Pulse:
    """Asked at every heartbeat. Silence is measured in what the asker has waited: a process that
    was frozen as a whole, or a machine that stood still, is no loop that hangs.
    """

    def __init__(self, ask: Ask, most_seconds: float) -> None:
        self._ask = ask
        self._most = most_seconds
        self._answered = True
        self._silent = 0.0

    def beats(self, waited: float) -> bool:
        """False where the loop has been silent for too long; `waited`: seconds since the last."""
        if self._answered:
            self._answered, self._silent = False, 0.0
            self._ask(self._answer)
        else:
            self._silent += waited
        return self._silent <= self._most

    def _answer(self) -> None:
        self._answered = True
