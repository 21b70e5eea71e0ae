"""SIGINT, SIGTERM and SIGHUP as one exception, raised once, and never during a protected change.

After the first signal, and while signals are delayed, further signals are only counted. So they do
not interrupt the cleanup, which can read their number to see whether it has to hurry.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StoppedBySignal(KeyboardInterrupt):
    """A signal asked this process to end; the exit code is 128 + the signal."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.exit_code = 128 + signum


class Signals:
    """Handles the signals during a `with` block, in the main thread."""

    def __init__(self) -> None:
        self._before: dict[int, object] = {}
        self._pending: int | None = None
        self._raised = False
        self._holds = 0
        self.count = 0

    def __enter__(self) -> Self:
        self._before = {signum: signal.signal(signum, self._arrived) for signum in CAUGHT}
        return self

    def __exit__(self, *_: object) -> None:
        for signum, before in self._before.items():
            signal.signal(signum, before)  # type: ignore[arg-type]

    def hold(self) -> None:
        """Only count signals from now on."""
        self._holds += 1

    @contextmanager
    def delayed(self) -> Iterator[None]:
        """Protect a change: a signal that arrives during the block is raised at its end."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
        if self._pending is not None:
            self._raise(self._pending)

    def _arrived(self, signum: int, _frame: FrameType | None) -> None:
        self.count += 1
        self._pending = signum
        self._raise(signum)

    def _raise(self, signum: int) -> None:
        if self._holds or self._raised:
            return
        self._raised = True
        raise StoppedBySignal(signum)
