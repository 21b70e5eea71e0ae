"""From what was measured to ratios, and to what they were to be. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.goal import Goal, judged

GOALS = {
    "local_print_ratio": Goal(0.6),
    "local_plot_ratio": Goal(0.3),
    "docker_print_ratio": Goal(1.2),
    "docker_plot_ratio": Goal(0.4),
}


@dataclass(frozen=True, slots=True)
class Figure:
    """Medians of both sides, in `unit` (ms a run, or runs a second). `key` names the ratio."""

    key: str
    what: str
    unit: str
    ours: float
    bare: float

    @property
    def ratio(self) -> float:
        """Ours over bare."""
        return self.ours / self.bare

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        goal = GOALS.get(self.key)
        return goal.met(self.ratio) if goal else None

    def row(self) -> tuple[str, ...]:
        """What a table shows."""
        numbers = (f"{self.ours:.1f} {self.unit}", f"{self.bare:.1f} {self.unit}")
        goal = judged(GOALS.get(self.key), self.ratio)
        return (self.what, *numbers, f"{self.ratio:.2f}", *goal)


def latency(key: str, what: str, ours: Sequence[float], bare: Sequence[float]) -> Figure:
    """From seconds of single runs."""
    return Figure(key, what, "ms", statistics.median(ours) * 1000, statistics.median(bare) * 1000)


def rate(key: str, what: str, ours: Sequence[float], bare: Sequence[float]) -> Figure:
    """From runs a second of slices."""
    return Figure(key, what, "/s", statistics.median(ours), statistics.median(bare))


def keys(figures: Sequence[Figure]) -> dict[str, float]:
    """What `--json` prints: the ratios, then both sides of each in its unit."""
    units = {"ms": "ms", "/s": "per_s"}
    told = {each.key: round(each.ratio, 3) for each in figures}
    for each in figures:
        name = each.key.replace("_ratio", "")
        told[f"{name}_{units[each.unit]}"] = round(each.ours, 2)
        told[f"{name}_bare_{units[each.unit]}"] = round(each.bare, 2)
    return told
