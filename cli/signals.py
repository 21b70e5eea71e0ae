"""SIGINT, SIGTERM and SIGHUP as one exception, raised once, and never in the middle of a change.

After the first signal, and while they are held, further ones are only counted: what cleans up is
not interrupted, and can see that somebody is in a hurry.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """Somebody wants us to end; the exit code is 128 + the signal."""

    def __init__(self, signum: int) -> None:
        super().__init__(signal.Signals(signum).name)
        self.exit_code = 128 + signum


class Signals:
    """Installed for the length of a `with` block, in the main thread."""

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
        """From here on signals are only counted."""
        self._holds += 1

    @contextmanager
    def held(self) -> Iterator[None]:
        """A change that is not to be torn: what arrives meanwhile is raised at its end."""
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
        raise Stopped(signum)
