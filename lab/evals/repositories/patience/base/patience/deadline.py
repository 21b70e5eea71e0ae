"""A time by which something has to be done."""

from patience.clock import Clock


class Deadline:
    def __init__(self, seconds, clock=None):
        self._clock = clock or Clock()
        self._end = self._clock.now() + seconds

    @property
    def left(self):
        return max(0.0, self._end - self._clock.now())

    def __bool__(self):
        return self.left > 0
