"""Looks for a run that goes on at the same time, and signals its processes."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.processes import visible
from drills.attacks.steps.runs import beside, ready
from sandbox.protocol import End


def holder(given: dict[str, Any]) -> str | None:
    import signal
    import time

    met = []
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGCONT):
        signal.signal(number, lambda number, _: met.append(number))
    ready(given)
    until = time.monotonic() + given["seconds"]
    while time.monotonic() < until:
        time.sleep(0.05)
    return f"a neighbour's signal {met[0]}" if met else None


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal

    for pid in visible():
        try:
            with open(f"/proc/{pid}/comm") as file:
                if file.read().strip() == given["theirs"][:15]:
                    return f"a neighbour's process is to be seen: {pid}"
        except OSError:
            continue
    for pid in given["pids"]:
        try:
            os.kill(pid, signal.SIGUSR1)
            return f"a neighbour was signalled by its number on the host: {pid}"
        except OSError:
            continue
    if os.path.exists("/work"):  # a room: whatever can be signalled here is meant to be tried
        for pid in range(2, 600):
            if pid != os.getpid():
                try:
                    os.kill(pid, signal.SIGUSR1)
                except OSError:
                    continue
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            os.kill(-1, signal.SIGTERM)
        except OSError:
            pass
    return None


ATTACK = Attack(
    probe,
    expects="no process of another run has a number here",
    ends=frozenset({End.KILLED}),  # of its own room, which is its own affair
    uses=(ready, visible),
    drive=beside(holder),
)
