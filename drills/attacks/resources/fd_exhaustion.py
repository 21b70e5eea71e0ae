"""Opens files until none can be opened, after asking for a higher limit."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from sandbox.protocol import Limits

LIMIT = 64


def probe(given: dict[str, Any]) -> str | None:
    import os
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    made: list[int] = []
    try:
        while len(made) < given["enough"]:
            made.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        return None
    finally:
        for fd in made:
            os.close(fd)
    return f"{len(made)} open files"


ATTACK = Attack(
    probe,
    expects="the open beyond `Limits.open_files` fails",
    limits=Limits(open_files=LIMIT),
    given={"enough": 2 * LIMIT},
)
