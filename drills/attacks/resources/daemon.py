"""Leaves a daemon behind: forked twice, in a session of its own, deaf to every signal it may be."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.drives import outlived, watched


def probe(given: dict[str, Any]) -> str | None:
    import os
    import subprocess
    import sys
    import time

    # The mark on its command line lets the host find it, whatever it has become.
    deaf = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; "
    if os.fork() == 0:
        os.setsid()
        subprocess.Popen([sys.executable, "-c", f"{deaf}time.sleep(20)", given["mark"]])
        os._exit(0)
    os.wait()
    time.sleep(0.5)  # for the host to meet it
    return None


ATTACK = Attack(
    probe,
    expects="the host finds none of the run's processes after its answer",
    drive=watched,
    judge=outlived,
)
