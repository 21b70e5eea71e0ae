"""Kills the room's agent and whatever else it may, with daemons of its own left behind."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Baseline
from drills.attacks.drives import survived
from drills.attacks.judges import ended
from sandbox.protocol import End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal
    import subprocess
    import sys

    for _ in range(2):
        subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(6)", given["mark"]],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    own_namespace = os.readlink("/proc/self/ns/pid") != given["pid_namespace"]
    targets = [os.getppid()]
    if own_namespace:
        targets += [int(each) for each in os.listdir("/proc") if each.isdigit()]
    for number in given["signals"]:
        for pid in targets:
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    mine = given["mark"].encode() in file.read()
                if not mine and pid != os.getpid():
                    os.kill(pid, number)
            except OSError:
                continue
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os._exit(3)


ATTACK = Attack(
    probe,
    expects="the room is dead or answers; nothing of it is left; the next run is as usual",
    limits=Limits(wall_seconds=5.0),
    given={"signals": [9]},
    drive=survived,
    judge=ended({End.KILLED, End.EXITED, End.SIGNALED, End.TIMEOUT}),
    control=Baseline(as_drill=True),
)
