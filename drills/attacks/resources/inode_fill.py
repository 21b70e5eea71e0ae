"""Makes empty files without end: they take no bytes, but kernel memory."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from sandbox.protocol import End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os

    made = 0
    top = os.getcwd()
    for place in (".", "/tmp", "/dev/shm", "/run"):
        try:
            os.mkdir(f"{place}/{given['mark']}")
            os.chdir(f"{place}/{given['mark']}")
            while made < given["enough"]:
                os.close(os.open(str(made), os.O_CREAT | os.O_WRONLY))
                made += 1
        except OSError:
            pass
        finally:
            os.chdir(top)
        if made >= given["enough"]:
            return f"{made} files"
    return None


ATTACK = Attack(
    probe,
    expects="the run is ended, or no more inodes are to be had",
    limits=Limits(wall_seconds=20.0),
    given={"enough": 100_000},
    ends=frozenset({End.DISK, End.MEMORY}),
)
