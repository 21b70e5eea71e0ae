"""One lock around all: right, but a slow key blocks every other, and failures are not shared."""

import threading


class Once:
    def __init__(self, function):
        self._function = function
        self._lock = threading.RLock()
        self._values = {}

    def __call__(self, key):
        with self._lock:
            if key not in self._values:
                self._values[key] = self._function(key)
            return self._values[key]

    def forget(self, key):
        with self._lock:
            self._values.pop(key, None)
