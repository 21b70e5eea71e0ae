"""Stops the room's agent, so that nobody in the room watches the deadline."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from drills.attacks.drives import survived
from drills.attacks.judges import held, reached
from drills.attacks.outcome import Observation, Verdict
from sandbox import policy
from sandbox.protocol import Limits

SECONDS = 1.0
MOST = SECONDS + policy.GRACE_SECONDS + 4.0


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal
    import time

    if os.readlink("/proc/self/ns/pid") == given["pid_namespace"]:
        return "its processes are the host's"
    for each in os.listdir("/proc"):
        if each.isdigit() and int(each) != os.getpid():
            try:
                os.kill(int(each), signal.SIGSTOP)
            except OSError:
                continue
    time.sleep(60)
    return None


def judge(seen: Observation) -> Verdict:
    if seen.report is not None:
        return reached(str(seen.report.reached))
    if seen.seconds > MOST or seen.left or not seen.notes["after"]:
        return reached(f"{seen.seconds:.1f} s, left: {seen.left}, after: {seen.notes['after']}")
    return held(f"it ended as {seen.result.end} after {seen.seconds:.1f} s")


ATTACK = Attack(
    probe,
    expects="the host ends the room by itself, a grace period after the deadline",
    limits=Limits(wall_seconds=SECONDS),
    drive=survived,
    judge=judge,
    control=Raised(Limits(wall_seconds=MOST + 1)),
)
