"""So many calls in a time, on average."""

from patience.clock import Clock


class Bucket:
    def __init__(self, rate, size, clock=None):
        self.rate, self.size = rate, size
        self._clock = clock or Clock()
        self._tokens, self._at = float(size), self._clock.now()

    def wait(self):
        """Wait for a turn; the seconds that it took."""
        now = self._clock.now()
        self._tokens = min(self.size, self._tokens + (now - self._at) * self.rate)
        self._at = now
        missing = max(0.0, (1 - self._tokens) / self.rate)
        if missing:
            self._clock.sleep(missing)
            self._at = self._clock.now()
            self._tokens += missing * self.rate
        self._tokens -= 1
        return missing
