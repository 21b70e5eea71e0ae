"""Takes open descriptors out of the process that started it: pidfd_getfd."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.raw import call
from drills.attacks.steps.rights import own


def probe(given: dict[str, Any]) -> str | None:
    import os

    for pid in dict.fromkeys((os.getppid(), 1)):
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            continue
        for descriptor in range(64):
            taken = call(438, handle, descriptor, 0)
            if taken >= 0:
                return f"descriptor {descriptor} of process {pid}"
    return None


ATTACK = Attack(probe, expects="none can be taken", control=own(), uses=(call,))
