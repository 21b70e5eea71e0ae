"""What a library settles once for each process, and two forks must not share.

`random`, `tempfile`, `uuid`, `secrets` and OpenSSL see to it themselves when a process forks.
Runs inside a sandbox: the standard library alone.
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


def reseed() -> None:
    """Make this process's own what is made once a process. To be called in a fork."""
    there: Callable[[str], Any] = sys.modules.get
    if numpy_random := there("numpy.random"):
        numpy_random.seed()
    if process := there("multiprocessing.process"):
        process.current_process().authkey = os.urandom(32)
    if tempfile := there("tempfile"):
        tempfile.tempdir = None
    if threading := there("threading"):  # of names: a library may have made a thread object
        threading._counter = itertools.count(1).__next__  # noqa: SLF001
    if logging := there("logging"):  # records tell their distance from it; from 3.13 in ns
        whole = isinstance(logging._startTime, int)  # noqa: SLF001
        logging._startTime = time.time_ns() if whole else time.time()  # noqa: SLF001
