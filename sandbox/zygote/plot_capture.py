"""Figures that a program drew and never saved: what `show` would have put on a screen.

`install` gives matplotlib's Agg backend a canvas that remembers whether its figure was saved. At
the end of a run that went well `save` writes each figure of pyplot that is open, and was in no file
yet, to `/work/figure-N.png`. That is part of the run, and counts against its limits.
"""

# ruff: noqa: PTH116

from __future__ import annotations

import os
import sys
import time
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_FIGURES = 10
MOST_PIXELS = 8_000_000
MOST_SECONDS = 2.0
"""No further figure is begun after this time."""
_SAVED = "_saved_by_program"
_PICTURES = (".png", ".jpg", ".jpeg", ".svg", ".pdf", ".webp", ".tif", ".tiff", ".eps", ".ps")


def install() -> None:
    """Have figures of the Agg backend remember that they were saved. Needs matplotlib."""
    agg: Any = sys.modules["matplotlib.backends.backend_agg"]

    class Canvas(agg.FigureCanvasAgg):  # type: ignore[misc]
        def print_figure(self, *args: Any, **kwargs: Any) -> Any:
            done = super().print_figure(*args, **kwargs)
            setattr(self.figure, _SAVED, True)
            return done

    Canvas.__name__ = Canvas.__qualname__ = "FigureCanvasAgg"
    agg.FigureCanvas = agg._BackendAgg.FigureCanvas = Canvas  # noqa: SLF001


def save(work: str, began: float) -> None:
    """Save what is open and unsaved into the directory `work`, for a program that `began` at that
    time (`time.time()`). Nothing of this fails.
    """
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None or not helpers.Gcf.figs:
        return
    until = time.monotonic() + MOST_SECONDS
    number = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for figure in _unsaved(helpers, work, began):
                if time.monotonic() >= until:
                    return
                number = _free(work, number + 1)
                figure.savefig(f"{work}/figure-{number}.png", format="png")
    except BaseException:  # noqa: BLE001, S110
        pass


def _unsaved(helpers: Any, work: str, began: float) -> list[Any]:
    """The figures to save. Where the program imported matplotlib itself no figure remembers
    anything, and one picture that was written is taken for all of them.
    """
    agg = sys.modules["matplotlib.backends.backend_agg"]
    if agg.FigureCanvas is agg.FigureCanvasAgg and _wrote_pictures(work, began):
        return []
    figures = [each.canvas.figure for each in helpers.Gcf.get_all_fig_managers()]
    drawn = [each for each in figures if each.axes and not hasattr(each, _SAVED)]
    return [each for each in drawn if _pixels(each) <= MOST_PIXELS][:MOST_FIGURES]


def _wrote_pictures(work: str, began: float) -> bool:
    return any(
        name.lower().endswith(_PICTURES) and os.stat(f"{folder}/{name}").st_mtime >= began
        for folder, _, names in os.walk(work)
        for name in names
    )


def _pixels(figure: Any) -> float:
    width, height = figure.get_size_inches()
    return float(width * height * figure.dpi**2)


def _free(work: str, number: int) -> int:
    """The first number from this one on whose file name is free."""
    while os.path.lexists(f"{work}/figure-{number}.png"):
        number += 1
    return number
