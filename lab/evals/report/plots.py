"""Plots of results. The libraries belong to the extra `plots`: see `lab.evals.extra`."""

from __future__ import annotations

from pathlib import Path

import plotext
from matplotlib.figure import Figure

from lab.evals.report.bars import Bars

LEAST_INCHES = 5.2
"""The least width, for the title."""
DOTS_PER_INCH = 144
BLUES = ("#9ecae1", "#2171b5", "#c7a27c", "#8c510a")
"""Colours of neighbouring bars: first attempt and end, of one measurement and of another."""


def png(path: Path, bars: Bars) -> None:
    """Write a plot to `path`: shares in percent, with their intervals."""
    inches = max(LEAST_INCHES, 2.2 + 1.5 * len(bars.groups))
    figure = Figure(figsize=(inches, 4.4), layout="constrained")
    axes = figure.add_subplot()
    width = 0.8 / len(bars.series)
    for number, name in enumerate(bars.series):
        rates = [rates[number] for rates in bars.groups.values()]
        positions = [position + (number + 0.5) * width - 0.4 for position in range(len(rates))]
        shares = [100 * rate.share for rate in rates]
        low = [100 * (rate.share - rate.low) for rate in rates]
        high = [100 * (rate.high - rate.share) for rate in rates]
        axes.bar(positions, shares, width * 0.92, color=BLUES[number % len(BLUES)], label=name)
        axes.errorbar(positions, shares, yerr=[low, high], fmt="none", ecolor="#333333", capsize=3)
        for position, rate in zip(positions, rates, strict=True):
            ink = "#ffffff" if number % 2 and rate.share > 0.1 else "#222222"
            axes.text(position, 1.5, f"{100 * rate.share:.1f}", ha="center", fontsize=8, color=ink)
    axes.set_xticks(range(len(bars.groups)), list(bars.groups))
    axes.set_ylim(0, 105)
    axes.set_ylabel("pass@1 in %, with 95 % intervals")
    axes.set_title(bars.title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=4)
    figure.savefig(path, dpi=DOTS_PER_INCH, metadata={"Software": None})


def terminal(bars: Bars, columns: int) -> str:
    """The shares as bars of characters, for a terminal with `columns` columns."""
    labels = {
        f"{group}, {name}" if len(bars.groups) > 1 else name: 100 * rate.share
        for group, rates in bars.groups.items()
        for name, rate in zip(bars.series, rates, strict=True)
    }
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    names, shares = list(reversed(labels)), list(reversed(labels.values()))
    figure.draw(figure.bar(names, shares, orientation="horizontal", width=0.6))
    figure.plot_size(min(columns, 90), 2 * len(labels) + 4)
    figure.ruler("x").lim(0, 100)
    figure.title("pass@1 in %")
    return str(plotext.uncolorize(str(figure.build())))
