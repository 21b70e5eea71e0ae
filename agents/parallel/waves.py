"""Waves: which steps of a plan run at the same time, and in which order. Pure.

See ADR 22.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NO_TWO = "no two of its steps are independent"


@dataclass(frozen=True, slots=True)
class Waves:
    """The waves of a plan."""

    waves: tuple[tuple[int, ...], ...] = ()
    """Step numbers, from 1. The steps of one wave run together, the waves one after the other. The
    pass after the waves does the other steps."""
    reason: str = ""
    """Why the plan has no waves, if it has none."""


def waves(after: Sequence[Sequence[int] | None], width: int) -> Waves:
    """The waves of a plan. Step n waits for the steps `after[n - 1]`; None means all earlier steps.

    At most `width` steps run at once. Single steps at the end are in no wave: the pass that joins
    the branches does them.
    """
    waits = {
        step: set(range(1, step) if needs is None else needs)
        for step, needs in enumerate(after, start=1)
    }
    for step, needs in waits.items():
        if unknown := sorted(needs - waits.keys()):
            return Waves(reason=f"step {step} waits for step {unknown[0]}, which does not exist")
    if width < 2:
        return Waves(reason="this installation runs one step at a time")
    result: list[tuple[int, ...]] = []
    while waits:
        ready = tuple(step for step, needs in waits.items() if not needs & waits.keys())[:width]
        if not ready:
            return Waves(reason=f"steps wait for each other in a circle: {_listed(waits)}")
        result.append(ready)
        for step in ready:
            del waits[step]
    while result and len(result[-1]) == 1:
        result.pop()
    return Waves(tuple(result)) if result else Waves(reason=NO_TWO)


def _listed(steps: dict[int, set[int]]) -> str:
    return ", ".join(map(str, steps))
