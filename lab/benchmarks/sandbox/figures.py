"""Ratios of the measurements, and their goals. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from lab.benchmarks.goal import judged

GOALS = {
    "local_print_ratio": 0.6,
    "local_plot_ratio": 0.3,
    "docker_print_ratio": 1.2,
    "docker_plot_ratio": 0.4,
}


@dataclass(frozen=True, slots=True)
class Figure:
    """Medians of both sides, in `unit` (ms per run, or runs per second). `key` names the ratio."""

    key: str
    label: str
    unit: str
    sandboxed: float
    baseline: float

    @property
    def ratio(self) -> float:
        """The sandboxed side divided by the baseline."""
        return self.sandboxed / self.baseline

    def row(self) -> tuple[str, ...]:
        """A row of the table."""
        numbers = (f"{self.sandboxed:.1f} {self.unit}", f"{self.baseline:.1f} {self.unit}")
        goal = judged(GOALS.get(self.key), self.ratio)
        return (self.label, *numbers, f"{self.ratio:.2f}", *goal)


def latency(key: str, label: str, sandboxed: Sequence[float], baseline: Sequence[float]) -> Figure:
    """The figure from the seconds of single runs."""
    return Figure(
        key, label, "ms", statistics.median(sandboxed) * 1000, statistics.median(baseline) * 1000
    )


def rate(key: str, label: str, sandboxed: Sequence[float], baseline: Sequence[float]) -> Figure:
    """The figure from the runs per second of slices."""
    return Figure(key, label, "/s", statistics.median(sandboxed), statistics.median(baseline))


def keys(figures: Sequence[Figure]) -> dict[str, float]:
    """The keys of `--json`: the ratios, then both sides of each ratio in its unit."""
    units = {"ms": "ms", "/s": "per_s"}
    keys = {figure.key: round(figure.ratio, 3) for figure in figures}
    for figure in figures:
        name = figure.key.replace("_ratio", "")
        keys[f"{name}_{units[figure.unit]}"] = round(figure.sandboxed, 2)
        keys[f"{name}_baseline_{units[figure.unit]}"] = round(figure.baseline, 2)
    return keys
