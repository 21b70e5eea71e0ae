"""Watches what other processes open: fanotify_init."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.raw import call


def probe(given: dict[str, Any]) -> str | None:
    import os

    number = 262 if os.uname().machine == "aarch64" else 300
    by_handle, plain = 0x200, 0
    for flags in (plain, by_handle):
        if call(number, flags, os.O_RDONLY) >= 0:
            return f"a group of watches, with flags {flags:#x}"
    return None


ATTACK = Attack(probe, expects="it is refused", control=Bare(root=True), uses=(call,))
