"""Reads each file of `/proc` that is no process's: counters of the whole machine, its parts."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Baseline
from sandbox.policy import PROC_SHOWN


def probe(given: dict[str, Any]) -> str | None:
    import os
    import time

    told = []
    for name in os.listdir("/proc"):
        if name.isdigit() or name in given["shown"]:
            continue
        for folder, _, files in os.walk(f"/proc/{name}"):
            told += [each for file in files if readable(each := os.path.join(folder, file))]
        if readable(f"/proc/{name}"):
            told.append(f"/proc/{name}")
    before = readable("/proc/stat")
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    if readable("/proc/stat") != before:
        told.append("/proc/stat, which moves")
    groups = readable("/proc/self/cgroup").decode().splitlines()
    told += [f"a control group {each}" for each in groups if not each.endswith(":/")]
    return f"{len(told)}: {', '.join(told[:6])}" if told else None


def readable(path: str) -> bytes:
    """The beginning of a file; nothing where it is not to be read."""
    import os

    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(fd, 4096)
    except OSError:
        return b""
    finally:
        os.close(fd)


ATTACK = Attack(
    probe,
    expects="nothing but what the policy names, with its reason, and no counter that moves",
    given={"shown": sorted(PROC_SHOWN)},
    uses=(readable,),
    control=Baseline(),
)
