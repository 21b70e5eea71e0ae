"""The plot of a set's benchmarks: rates with their intervals over time, by model. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT, MARGIN = 320.0, 120.0, 12.0
MAX_COLOURS = 6


@dataclass(frozen=True, slots=True)
class Point:
    """The rate of a benchmark, in units of the plot. `y` counts from the top."""

    x: float
    y: float
    top: float
    bottom: float
    colour: int
    text: str


@dataclass(frozen=True, slots=True)
class Plot:
    """The benchmarks of one set of exercises, oldest first."""

    name: str
    points: Sequence[Point]
    models: Mapping[str, int]
    """The number of the colour of each model."""


def plots_of(benchmarks: Iterable[Mapping[str, Any]]) -> list[Plot]:
    """A plot for each set of exercises that has a rate. `benchmarks`: {created_at, report} of each,
    newest first. Sets are the same if their digests are the same."""
    by_set: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for benchmark in benchmarks:
        report = benchmark["report"]
        if report and report["final"]:
            by_set[report["set"]["digest"]].append(benchmark)
    return [_plot(measured[::-1]) for measured in by_set.values()]


def _plot(benchmarks: Sequence[Mapping[str, Any]]) -> Plot:
    models: dict[str, int] = {}
    step = (WIDTH - 2 * MARGIN) / max(len(benchmarks) - 1, 1)
    points = []
    for position, benchmark in enumerate(benchmarks):
        report = benchmark["report"]
        model, rate = report["settings"]["model"], report["final"]
        models.setdefault(model, len(models) % MAX_COLOURS)
        percent = f"{rate['share']:.0%} ({rate['low']:.0%} to {rate['high']:.0%})"
        points.append(
            Point(
                x=round(MARGIN + position * step, 1),
                y=_y(rate["share"]),
                top=_y(rate["high"]),
                bottom=_y(rate["low"]),
                colour=models[model],
                text=f"{benchmark['created_at'][:10]} {model}: {percent}",
            )
        )
    return Plot(benchmarks[0]["report"]["set"]["name"], points, models)


def _y(share: float) -> float:
    return round(MARGIN + (1 - share) * (HEIGHT - 2 * MARGIN), 1)
