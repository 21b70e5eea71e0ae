"""Figures that a program drew and never saved: what `show` would have put on a screen.

The canvas of `charts` remembers whether its figure was saved. At the end of a run that went well
`save` writes each open figure of pyplot that was never saved to `/work/figure-N.png`. That is part
of the run, and counts against its limits.
"""

from __future__ import annotations

import os
import sys
import time
import warnings

from sandbox.zygote import charts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_FIGURES = 10
MOST_PIXELS = 8_000_000
MOST_SECONDS = 2.0
"""No further figure is begun after this time."""


def save(work: str) -> None:
    """Save what is open and unsaved into the directory `work`. Nothing of this fails."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None or not helpers.Gcf.figs:
        return
    until = time.monotonic() + MOST_SECONDS
    number = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for figure in _unsaved(helpers):
                if time.monotonic() >= until:
                    return
                number = _free(work, number + 1)
                figure.savefig(f"{work}/figure-{number}.png", format="png")
    except BaseException:  # noqa: BLE001, S110
        pass


def _unsaved(helpers: Any) -> list[Any]:
    figures = [each.canvas.figure for each in helpers.Gcf.get_all_fig_managers()]
    drawn = [each for each in figures if each.axes and not hasattr(each, charts.SAVED)]
    return [each for each in drawn if _pixels(each) <= MOST_PIXELS][:MOST_FIGURES]


def _pixels(figure: Any) -> float:
    width, height = figure.get_size_inches()
    return float(width * height * figure.dpi**2)


def _free(work: str, number: int) -> int:
    """The first number from this one on whose file name is free."""
    while os.path.lexists(f"{work}/figure-{number}.png"):
        number += 1
    return number
