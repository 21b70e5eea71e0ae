import threading


class _Try:
    def __init__(self):
        self.done = threading.Event()
        self.thread = threading.get_ident()
        self.value = None
        self.failure = None


class Once:
    def __init__(self, function):
        self._function = function
        self._lock = threading.Lock()
        self._tries = {}

    def __call__(self, key):
        with self._lock:
            known = self._tries.get(key)
            if known is None:
                own = self._tries[key] = _Try()
        if known is None:
            return self._compute(key, own)
        if not known.done.is_set() and known.thread == threading.get_ident():
            raise RuntimeError(f"{key!r} needs itself")
        known.done.wait()
        if known.failure is not None:
            raise known.failure
        return known.value

    def forget(self, key):
        with self._lock:
            self._tries.pop(key, None)

    def _compute(self, key, own):
        try:
            own.value = self._function(key)
        except BaseException as failure:
            own.failure = failure
            with self._lock:
                if self._tries.get(key) is own:
                    del self._tries[key]
            raise
        finally:
            own.done.set()
        return own.value
