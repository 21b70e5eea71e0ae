"""FailPoint: a named place at which a process kills itself, as `kill -9` would.

For tests of what survives: `FETTLE_FAIL_POINT=NAME` or `NAME:N` names one, and the process dies
when it gets there for the N-th time; with `NAME:N:stuck` its thread hangs there for good instead.
Production refuses the setting.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class FailPoint:
    """One point, as it was named. Points come in pairs around something done."""

    def __init__(self, named: str) -> None:
        self._name, number, how = [*named.split(":"), "1", ""][:3]
        self._left = int(number)
        self._stuck = how == "stuck"

    @contextmanager
    def around(self, done: str | None) -> Iterator[None]:
        """`before_` and `after_` something; the latter is not reached where it raised. None is
        nothing."""
        if done is None:
            yield
            return
        self._reach(f"before_{done}")
        yield
        self._reach(f"after_{done}")

    def _reach(self, name: str) -> None:
        if name != self._name:
            return
        self._left -= 1
        if self._left == 0 and self._stuck:
            threading.Event().wait()
        elif self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
