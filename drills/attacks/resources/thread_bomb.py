"""Starts threads until no more can be started."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from sandbox.protocol import Limits

LIMIT = 32


def probe(given: dict[str, Any]) -> str | None:
    import threading

    end = threading.Event()
    made = 0
    try:
        while made < given["enough"]:
            threading.Thread(target=end.wait, args=(10,), daemon=True).start()
            made += 1
    except RuntimeError:
        return None
    finally:
        end.set()
    return f"{made} threads at one time"


ATTACK = Attack(
    probe,
    expects="threads count as processes: the one beyond `Limits.processes` cannot be started",
    limits=Limits(processes=LIMIT),
    given={"enough": 2 * LIMIT},
)
