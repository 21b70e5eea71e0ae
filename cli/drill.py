"""A drill in a process of its own, which clears up before we end."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

from cli.signals import Signals, Stopped
from settings.client import inherited


def drill(name: str, words: Sequence[str], env: Mapping[str, str] | None = None) -> int:
    """The exit code of `python -m drills.NAME`, with `env` over this environment.

    Raises Stopped when it has ended, if we shall.
    """
    # -P: a folder `drills` in the user's own project must not shadow Fettle's.
    argv = [sys.executable, "-P", "-m", f"drills.{name}", *words]
    with Signals() as signals:
        try:
            with signals.held():  # from its start on, this process must end it
                process = subprocess.Popen(argv, env=inherited(env or {}))
            return process.wait()
        except Stopped as stopped:
            signals.hold()  # it clears up first, however often we are asked
            if stopped.exit_code != 128 + signal.SIGINT:
                process.terminate()  # a terminal's Ctrl-C has reached it too, this has not
            process.wait()
            raise
