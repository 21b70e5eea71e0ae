"""Dies of a signal while its children exit with 0 and print that all is well."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Instead
from drills.attacks.judges import held, reached
from drills.attacks.outcome import Observation, Verdict


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal

    for session in (False, True):
        if os.fork() == 0:
            if session:
                os.setsid()
            os.write(1, b'{"end": "exited", "exit_code": 0}\nend -\nstatus 0\n')
            os._exit(0)
    os.wait()
    os.wait()
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def succeeds(given: dict[str, Any]) -> str | None:
    return None


def judge(seen: Observation) -> Verdict:
    if seen.result.signal != 9:
        return reached(f"it ended as {seen.result.end} {seen.result.exit_code}, not by signal 9")
    return held()


ATTACK = Attack(
    probe,
    expects="the end of the program itself, and of no other process",
    judge=judge,
    control=Instead(succeeds),
)
