"""Writes into the program that runs it, by way of `/proc/PID/exe` (as of CVE-2019-5736)."""

from __future__ import annotations

import os
import sys
from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.rights import own


def probe(given: dict[str, Any]) -> str | None:
    import errno
    import os

    for pid in ("self", os.getppid(), 1):
        for flags in (os.O_WRONLY, os.O_WRONLY | os.O_APPEND):
            try:
                os.close(os.open(f"/proc/{pid}/exe", flags))  # nothing is written
            except OSError as error:
                if error.errno != errno.ETXTBSY:
                    continue
            return f"/proc/{pid}/exe, but that it runs: a matter of waiting"
    return None


def absent() -> str | None:
    if os.access(os.path.realpath(sys.executable), os.W_OK):
        return None
    return "the drill may not write its own interpreter, so it cannot show that it would notice"


ATTACK = Attack(
    probe, expects="none opens for writing, by its rights", control=own(), absent=absent
)
