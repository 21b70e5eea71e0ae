"""Looks for the files of a run that goes on at the same time, and for its shared memory."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import beside, ready


def holder(given: dict[str, Any]) -> str | None:
    import os
    import time

    made = []
    for place in ("/tmp", "/dev/shm", "/var/tmp", "/run", "/work"):
        try:
            path = f"{place}/{given['theirs']}"
            with open(path, "w") as file:
                file.write("theirs")
            made.append(path)
        except OSError:
            continue
    ready(given)
    time.sleep(given["seconds"])
    for path in made:
        os.unlink(path)
    return None


def probe(given: dict[str, Any]) -> str | None:
    import os

    for place in ("/tmp", "/dev/shm", "/var/tmp", "/run", "/work"):
        if os.path.exists(f"{place}/{given['theirs']}"):
            return f"a neighbour's file in {place}"
    try:
        from multiprocessing import shared_memory

        shared_memory.SharedMemory(given["theirs"]).close()
        return "a neighbour's shared memory, by its name"
    except OSError:
        return None


ATTACK = Attack(
    probe,
    expects="each run has folders of its own",
    uses=(ready,),
    drive=beside(holder),
)
