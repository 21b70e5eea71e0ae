import time
from collections import OrderedDict


class Cache:
    def __init__(self, capacity, ttl, clock=time.monotonic):
        if capacity < 1:
            raise ValueError("a cache holds at least one key")
        self._capacity, self._ttl, self._clock = capacity, ttl, clock
        self._held = OrderedDict()  # key -> (value, since); the most recently used last

    def put(self, key, value):
        self._sweep()
        self._held.pop(key, None)
        while len(self._held) >= self._capacity:
            self._held.popitem(last=False)
        self._held[key] = (value, self._clock())

    def get(self, key, default=None):
        self._sweep()
        if key not in self._held:
            return default
        self._held.move_to_end(key)
        return self._held[key][0]

    def __len__(self):
        self._sweep()
        return len(self._held)

    def _sweep(self):
        now = self._clock()
        for key in [k for k, (_, since) in self._held.items() if now - since >= self._ttl]:
            del self._held[key]
