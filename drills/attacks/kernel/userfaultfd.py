"""Handles page faults itself, which widens any race in the kernel: userfaultfd."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.here import reaches
from drills.attacks.steps.raw import apart, call


def probe(given: dict[str, Any]) -> str | None:
    import os

    number = 282 if os.uname().machine == "aarch64" else 323
    own_faults_only = 1
    for flags in (own_faults_only, 0):
        if (apart(lambda: call(number, flags)) or -1) > 0:  # noqa: B023
            return f"a descriptor for faults, with flags {flags}"
    try:
        os.close(os.open("/dev/userfaultfd", os.O_RDWR))
    except OSError:
        return None
    return "/dev/userfaultfd"


def absent() -> str | None:
    return None if reaches(probe, (call, apart)) else "this kernel has no userfaultfd"


ATTACK = Attack(probe, expects="it is refused", uses=(call, apart), absent=absent)
