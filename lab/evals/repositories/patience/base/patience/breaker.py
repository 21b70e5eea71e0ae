"""Stops calling what is down; docs/breaker.md has the rules."""

from patience.clock import Clock
from patience.errors import Open


class Breaker:
    def __init__(self, failures=3, rest=30.0, clock=None):
        self.failures, self.rest = failures, rest
        self._clock = clock or Clock()
        self._failed = 0
        self._opened = None

    @property
    def is_open(self):
        return self._opened is not None and self._clock.now() - self._opened < self.rest

    def call(self, function):
        """Raises Open, or what the function raises."""
        if self.is_open:
            raise Open
        try:
            value = function()
        except Exception:
            self._failed += 1
            if self._failed == self.failures:
                self._opened = self._clock.now()
            raise
        self._opened = None
        return value
