"""Writes a little, for ever, on both outputs, past the deadline."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os
    import time

    until = time.monotonic() + given["seconds"]
    while time.monotonic() < until:
        os.write(1, b"out\n")
        os.write(2, b"err\n")
        time.sleep(0.01)
    return f"wrote for {given['seconds']} s"


ATTACK = Attack(
    probe,
    expects="output is no sign of life: the deadline holds",
    limits=Limits(wall_seconds=1.0),
    given={"seconds": 3},
    ends=frozenset({End.TIMEOUT}),
    control=Raised(Limits(wall_seconds=20.0)),
)
