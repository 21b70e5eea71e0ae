"""What a library settles once for each process, and two forks must not share.

`random`, `tempfile`, `uuid`, `secrets` and OpenSSL see to it themselves when a process forks.
Runs inside a room: the standard library alone.
"""

from __future__ import annotations

import itertools
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_WORDS = 624
"""Of the state of numpy's own MT19937; so many are used up when new ones are to be made."""


class Threads:
    """`threading` goes through its threads and locks in each fork. Where there is but one thread,
    and no lock is held, it finds all as it leaves it, and writes to 150 pages to do so, 40 of which
    nothing else writes to. So it does that once ahead, when this is made, and sleeps until `wake`:
    the forks of the code are its to look at again.
    """

    def __init__(self) -> None:
        self._look: Any = getattr(sys.modules.get("threading"), "_after_fork", None)
        if self._look is not None:
            self._look()
            self._code = self._look.__code__
            self._look.__code__ = _asleep.__code__  # the interpreter has the function itself

    def wake(self) -> None:
        """From now on, what is forked is looked through."""
        if self._look is not None:
            self._look.__code__ = self._code


def _asleep() -> None:
    """What `threading` does in the fork that becomes the code's process."""


def start() -> None:
    """Make this process's own what is made once a process. To be called in a fork."""
    there: Callable[[str], Any] = sys.modules.get
    if numpy_random := there("numpy.random"):  # all of its state: `seed()` writes to more
        words = sys.modules["numpy"].frombuffer(os.urandom(4 * _WORDS), "u4")
        numpy_random.set_state(("MT19937", words, _WORDS))
    if process := there("multiprocessing.process"):
        process.current_process().authkey = os.urandom(32)
    if tempfile := there("tempfile"):
        tempfile.tempdir = None
    if threading := there("threading"):  # of names: a library may have made a thread object
        threading._counter = itertools.count(1).__next__  # noqa: SLF001
    if logging := there("logging"):  # records tell their distance from it; from 3.13 in ns
        whole = isinstance(logging._startTime, int)  # noqa: SLF001
        logging._startTime = time.time_ns() if whole else time.time()  # noqa: SLF001
