"""Figures that a program drew and never saved: what `show` would have put on a screen.

Matplotlib's Agg backend gets a canvas that remembers whether its figure was saved: at once where it
is loaded, else when the program imports it. At the end of a run that went well `save` writes each
open figure of pyplot that was never saved to `/work/figure-N.png`. That is part of the run, and
counts against its limits.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import time
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MOST_FIGURES = 10
MOST_PIXELS = 8_000_000
MOST_SECONDS = 2.0
"""No further figure is begun after this time."""
_SAVED = "_saved_by_program"
_AGG = "matplotlib.backends.backend_agg"


def install() -> None:
    """Have figures of the Agg backend remember that they were saved."""
    if _AGG in sys.modules:
        _install(sys.modules[_AGG])
    else:
        sys.meta_path.insert(0, _OnImport())


class _OnImport:
    """A finder that installs the canvas when the backend is imported, and is gone by then."""

    def find_spec(self, name: str, path: Sequence[str] | None, _target: object = None) -> Any:
        if name != _AGG:
            return None
        sys.meta_path.remove(self)
        spec: Any = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None:
            execute = spec.loader.exec_module

            def execute_and_install(module: Any) -> None:
                execute(module)
                _install(module)

            spec.loader.exec_module = execute_and_install
        return spec


def _install(agg: Any) -> None:
    if agg.FigureCanvas is not agg.FigureCanvasAgg:  # it is there, from before a fork
        return

    class Canvas(agg.FigureCanvasAgg):  # type: ignore[misc]
        def print_figure(self, *args: Any, **kwargs: Any) -> Any:
            done = super().print_figure(*args, **kwargs)
            setattr(self.figure, _SAVED, True)
            return done

    Canvas.__name__ = Canvas.__qualname__ = "FigureCanvasAgg"
    agg.FigureCanvas = agg._BackendAgg.FigureCanvas = Canvas  # noqa: SLF001


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
    drawn = [each for each in figures if each.axes and not hasattr(each, _SAVED)]
    return [each for each in drawn if _pixels(each) <= MOST_PIXELS][:MOST_FIGURES]


def _pixels(figure: Any) -> float:
    width, height = figure.get_size_inches()
    return float(width * height * figure.dpi**2)


def _free(work: str, number: int) -> int:
    """The first number from this one on whose file name is free."""
    while os.path.lexists(f"{work}/figure-{number}.png"):
        number += 1
    return number
