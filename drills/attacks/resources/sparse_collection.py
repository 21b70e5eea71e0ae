"""Leaves a thousand sparse files: nothing to make, gigabytes to collect."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from drills.attacks.judges import broken, held, reached
from drills.attacks.seen import Seen, Verdict
from sandbox.protocol import MIB, End, Limits

WORKSPACE = 8 * MIB


def probe(given: dict[str, Any]) -> str | None:
    for number in range(1_000):
        with open(f"sparse-{number}", "wb") as file:
            file.truncate(given["each"])
    return None


def judge(seen: Seen) -> Verdict:
    size = sum(map(len, seen.result.changed.values()))
    if size > WORKSPACE:
        return reached(f"{size} bytes were collected")
    if seen.seconds > 10:
        return reached(f"collecting took {seen.seconds:.1f} s")
    if seen.result.end is not End.EXITED or not seen.result.refused:
        return broken(f"{seen.result.end}, {len(seen.result.refused)} refused")
    return held(f"{size} bytes collected, the rest refused")


ATTACK = Attack(
    probe,
    expects="what is collected has a total, holes counted, and the rest is refused unread",
    limits=Limits(file_bytes=2 * MIB, workspace_bytes=WORKSPACE),
    given={"each": 2 * MIB},
    judge=judge,
    control=Raised(Limits(file_bytes=2 * MIB, workspace_bytes=64 * MIB)),
)
