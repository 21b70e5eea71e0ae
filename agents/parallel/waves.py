"""Waves: which steps of a plan run at the same time, and in which order. Pure.

Why: docs/decisions/0022-branches.md
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NO_TWO = "no two of its steps are independent"


@dataclass(frozen=True, slots=True)
class Waves:
    """Step numbers (from 1): the steps of one wave run together, the waves one after the other.

    The pass after the waves does the steps that are in none. Without waves, `why` gives the reason.
    """

    waves: tuple[tuple[int, ...], ...] = ()
    why: str = ""


def waves(after: Sequence[Sequence[int] | None], width: int) -> Waves:
    """The waves of a plan whose step n waits for the steps `after[n - 1]`; None: for all before it.

    At most `width` steps run at once. Single steps at the end are in no wave: the pass that joins
    the branches does them.
    """
    waits = {
        step: set(range(1, step) if needs is None else needs)
        for step, needs in enumerate(after, start=1)
    }
    for step, needs in waits.items():
        if unknown := sorted(needs - waits.keys()):
            return Waves(why=f"step {step} waits for step {unknown[0]}, which does not exist")
    if width < 2:
        return Waves(why="this installation runs one step at a time")
    found: list[tuple[int, ...]] = []
    while waits:
        ready = tuple(step for step, needs in waits.items() if not needs & waits.keys())[:width]
        if not ready:
            return Waves(why=f"steps wait for each other in a circle: {_listed(waits)}")
        found.append(ready)
        for step in ready:
            del waits[step]
    while found and len(found[-1]) == 1:
        found.pop()
    return Waves(tuple(found)) if found else Waves(why=NO_TWO)


def _listed(steps: dict[int, set[int]]) -> str:
    return ", ".join(map(str, steps))
