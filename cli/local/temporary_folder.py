"""A temporary folder that is removed even if this process is killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

REMOVER = """
import shutil, signal, sys
for number in (signal.SIGTERM, signal.SIGHUP):  # a service manager sends them to all processes
    signal.signal(number, signal.SIG_IGN)
sys.stdin.read()
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""
"""The process that removes the folder when its stdin is closed."""
MOST_SECONDS = 20.0


@contextmanager
def temporary_folder(prefix: str) -> Iterator[tuple[Path, int]]:
    """A folder, and a file descriptor. The folder is removed when this process has left the block
    or has ended, and each child that inherited the descriptor has ended, too."""
    folder = mkdtemp(prefix=prefix)
    end, inherited = os.pipe()
    argv = (sys.executable, "-I", "-S", "-c", REMOVER, folder)
    remover = subprocess.Popen(argv, stdin=end, stdout=subprocess.DEVNULL, start_new_session=True)
    os.close(end)
    try:
        yield Path(folder), inherited
    finally:
        os.close(inherited)
        with suppress(subprocess.TimeoutExpired):  # it also ends later without this process
            remover.wait(MOST_SECONDS)
