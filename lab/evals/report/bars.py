"""The data of plots: bars with intervals. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.evals.report.comparing import Measured, Paired
from lab.evals.report.results import Header
from lab.evals.report.statistics import Rate
from lab.evals.report.summing import ResultSummary


@dataclass(frozen=True, slots=True)
class Bars:
    """Groups of bars: for each group, a rate of each series."""

    title: str
    series: Sequence[str]
    groups: Mapping[str, Sequence[Rate]]


def bars_of_results(header: Header, summary: ResultSummary) -> Bars | None:
    """The bars of a measurement; None if no exercise was judged by tests."""
    if summary.final is None:
        return None
    pairs = {"all": (summary.first, summary.final), **summary.levels}
    groups = {name: [rate for rate in pair if rate is not None] for name, pair in pairs.items()}
    series = ("first attempt", "at the end")[-len(groups["all"]) :]
    repair = "with repair" if header.settings["repair"] else "no repair"
    title = f"{header.set['name']}: {header.settings['model']}, {repair}, {summary.measured} tries"
    return Bars(title, series, groups)


def bars_of_comparison(pairs: Sequence[Paired], names: tuple[str, str]) -> Bars:
    """The bars of a comparison."""
    groups = {pair.measure: (pair.first, pair.second) for pair in pairs}
    return Bars(f"{names[0]} and {names[1]}, {pairs[0].shared} exercises", names, groups)


def names_of(first: Measured, second: Measured) -> tuple[str, str]:
    """Names for two measurements: the setting in which they differ."""
    first_settings, second_settings = first[0].settings, second[0].settings
    if first_settings["model"] != second_settings["model"]:
        return str(first_settings["model"]), str(second_settings["model"])
    if first_settings["repair"] != second_settings["repair"]:
        return _repair(first_settings), _repair(second_settings)
    return f"{first[0].began}", f"{second[0].began}"


def _repair(settings: Mapping[str, Any]) -> str:
    return "repair" if settings["repair"] else "no repair"
