"""Looks at the time of a key only when that key is asked for: the dead take places."""

import time
from collections import OrderedDict


class Cache:
    def __init__(self, capacity, ttl, clock=time.monotonic):
        if capacity < 1:
            raise ValueError("a cache holds at least one key")
        self._capacity, self._ttl, self._clock = capacity, ttl, clock
        self._held = OrderedDict()

    def put(self, key, value):
        self._held.pop(key, None)
        if len(self._held) >= self._capacity:
            self._held.popitem(last=False)
        self._held[key] = (value, self._clock() + self._ttl)

    def get(self, key, default=None):
        if key not in self._held:
            return default
        value, until = self._held[key]
        if self._clock() >= until:
            del self._held[key]
            return default
        self._held.move_to_end(key)
        return value

    def __len__(self):
        return sum(self._clock() < until for _, until in self._held.values())
