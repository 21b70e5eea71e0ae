"""Goes through `/proc/PID/root`, `cwd`, `exe`, `fd` and `map_files` of other processes."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.rights import own


def probe(given: dict[str, Any]) -> str | None:
    import os

    def links(pid: int) -> list[str]:
        found = [f"/proc/{pid}/{each}" for each in ("root", "cwd", "exe")]
        for folder in ("fd", "map_files"):
            try:
                found += [
                    f"/proc/{pid}/{folder}/{each}" for each in os.listdir(f"/proc/{pid}/{folder}")
                ]
            except OSError:
                continue
        return found

    others = {int(each) for each in os.listdir("/proc") if each.isdigit()} - {os.getpid()}
    for pid in sorted(others, key=lambda each: each != os.getppid()):
        for link in links(pid):
            try:
                # Neither opened for reading nor followed further: in a control it is someone's.
                os.close(os.open(link, os.O_PATH))
                return f"{link} -> {os.readlink(link)}"
            except OSError:
                continue
    return None


ATTACK = Attack(probe, expects="no link of another process can be followed", control=own())
