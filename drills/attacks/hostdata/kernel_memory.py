"""Reads the kernel's memory and the machine's: kcore, /dev/mem and their like."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.planting import PLANTED, bound, planting

NAMES = (
    "/proc/kcore",
    "/dev/mem",
    "/dev/kmem",
    "/dev/port",
    "/proc/kpagecount",
    "/proc/kpageflags",
)


def probe(given: dict[str, Any]) -> str | None:
    import os

    if given["plant"]:
        with open("core", "wb") as file:
            file.write(bytes(64))
        there = [name for name in given["names"] if os.path.exists(name)]
        bound(given, os.path.abspath("core"), (there or ["/proc/version"])[0])
    for name in given["names"] + (["/proc/version"] if given["plant"] else []):
        try:
            with open(name, "rb", buffering=0) as file:
                data = file.read(8)
        except OSError:
            continue
        if data:  # one that is masked by /dev/null opens, and is empty
            return f"{len(data)} bytes of {name}"
    return None


ATTACK = Attack(
    probe,
    expects="none can be opened, or it is empty",
    given={"names": NAMES},
    uses=(bound,),
    drive=planting,
    control=PLANTED,
)
