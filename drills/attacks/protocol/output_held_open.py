"""Ends, while a daemon of its own keeps its outputs open."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Instead
from drills.attacks.drives import survived
from drills.attacks.judges import answered
from sandbox.protocol import End


def probe(given: dict[str, Any]) -> str | None:
    import os
    import subprocess

    subprocess.Popen(["/bin/sleep", "20"], start_new_session=True)
    os._exit(4)


def waits(given: dict[str, Any]) -> str | None:
    import os
    import time

    time.sleep(7)
    os._exit(4)


ATTACK = Attack(
    probe,
    expects="the answer comes at once: who holds the outputs is killed",
    drive=survived,
    judge=answered(End.EXITED, 4, within=6.0),
    control=Instead(waits),
)
