"""Leaves processes behind that are stopped, in sessions of their own."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.drives import outlived, watched


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal
    import subprocess
    import sys
    import time

    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(20)", given["mark"]],
            start_new_session=True,
        )
        os.kill(process.pid, signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
    time.sleep(0.5)  # for the host to meet them
    return None


ATTACK = Attack(
    probe,
    expects="the host finds none of them after the run's answer",
    drive=watched,
    judge=outlived,
)
