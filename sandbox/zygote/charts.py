"""Describes the charts that a program saves, and saves the figures that it only draws.

Each PNG or SVG file of matplotlib gets a text `Description`, for readers who do not see pictures.
The Agg backend gets a canvas that adds the description to the metadata of a file, unless the
program sets one, and marks its figure as saved. The canvas is installed at once if the backend is
loaded, or else when the program imports the backend. A program that is not a fork of a zygote gets
this file as a line of a `.pth` file, so it imports no module of Fettle.

After a successful run, `save_unsaved_figures` writes the open figures of pyplot that were never
saved to `/work/figure-N.png`. `show` would have displayed them on a screen. That is part of the
run, and counts against its limits.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import time
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

SAVED = "_saved_by_program"
"""An attribute of a figure that was saved."""
KEYWORD = "Description"
FORMATS = ("png", "svg")
MAX_CHARACTERS = 1_000
MAX_AXES = 12
"""Pairs of axes in one description."""
MAX_ARTISTS = 12
"""Lines, bars and so on of one pair of axes."""
MAX_FIGURES = 10
"""Unsaved figures that are saved at the end of a run."""
MAX_PIXELS = 8_000_000
MAX_SECONDS = 2.0
"""After this time, no further figure is saved."""
_MAX_LABELS = 8
_LABEL_CHARACTERS = 60
_AGG = "matplotlib.backends.backend_agg"
_WAIT_FOR_BACKEND = """
import sys
class WaitForBackend:
    def find_spec(self, name, path=None, target=None):
        if name != AGG:
            return None
        sys.meta_path.remove(self)
        exec(CODE, {"__name__": "fettle_charts"})
        return sys.meta_path[0].find_spec(name, path)
sys.meta_path.insert(0, WaitForBackend())
"""
"""The `return` statement finds the backend by the `_OnImport` that CODE has installed."""


def install() -> None:
    """Make the Agg backend describe the figures that it saves."""
    if _AGG in sys.modules:
        _install(sys.modules[_AGG])
    else:
        sys.meta_path.insert(0, _OnImport())


def pth_line() -> str:
    """The line of a `.pth` file that installs this module in an interpreter. The module is compiled
    only if the program imports the backend: most programs draw nothing."""
    with open(__file__, encoding="utf-8") as file:  # noqa: PTH123  (pathlib is slow to import)
        code = f"{file.read()}\ninstall()\n"
    variables = {"__name__": "fettle_charts", "AGG": _AGG, "CODE": code}
    return f"import sys; exec({_WAIT_FOR_BACKEND!a}, {variables!a})"


class _OnImport:
    """A finder that installs the canvas when the backend is imported; it removes itself first."""

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
    if agg.FigureCanvas is not agg.FigureCanvasAgg:  # installed before a fork
        return

    class Canvas(agg.FigureCanvasAgg):  # type: ignore[misc]
        def print_figure(self, filename: Any, *args: Any, **kwargs: Any) -> Any:
            options = _with_description(self, filename, kwargs)
            result = super().print_figure(filename, *args, **options)
            setattr(self.figure, SAVED, True)
            return result

    Canvas.__name__ = Canvas.__qualname__ = "FigureCanvasAgg"
    agg.FigureCanvas = agg._BackendAgg.FigureCanvas = Canvas  # noqa: SLF001


def _with_description(canvas: Any, filename: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options of `print_figure` with the description, if the format takes one."""
    end = str(filename).rpartition(".")[2] if isinstance(filename, (str, os.PathLike)) else ""
    kind = options.get("format") or (end if "/" not in end else "") or canvas.get_default_filetype()
    if str(kind).lower() not in FORMATS or "pnginfo" in (options.get("pil_kwargs") or {}):
        return options
    text = description(canvas.figure)
    metadata = {KEYWORD: text, **(options.get("metadata") or {})}
    return {**options, "metadata": metadata} if text else options


def description(figure: Any) -> str:
    """Describe a figure on one line: title, axes with labels and ranges, and the number of points
    of each line, bar chart and so on. Empty for an empty figure, and if matplotlib fails."""
    try:
        title = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
        drawn = [axes for axes in figure.axes if axes.get_visible() and axes.has_data()]
        drawn = [axes for axes in drawn if axes.get_label() != "<colorbar>"]
        texts = [_axes(axes) for axes in drawn[:MAX_AXES]]
        if len(drawn) > MAX_AXES:
            texts.append(f"and {len(drawn) - MAX_AXES} more charts")
        if len(drawn) > 1:
            texts = [f"({number}) {text}" for number, text in enumerate(texts, 1)]
        text = " ".join(([f"{_quoted(title)}."] if title else []) + texts)
    except Exception:  # noqa: BLE001
        return ""
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 4] + " ..."


def _axes(axes: Any) -> str:
    marks = list(_marks(axes))
    if len(marks) > MAX_ARTISTS:
        marks = [*marks[:MAX_ARTISTS], f"and {len(marks) - MAX_ARTISTS} more"]
    title = axes.get_title()
    heading = f"{_quoted(title)}: " if title else ""
    parts = ["; ".join(marks) or "a drawing"]
    if axes.axison:
        parts += [_axis("x", axes.xaxis), _axis("y", axes.yaxis)]
    return f"{heading}{', '.join(filter(None, parts))}."


def _axis(name: str, axis: Any) -> str:
    """The label of an axis, and its range; the texts at its ticks if they are not numbers. Empty
    for an axis without ticks."""
    if not len(axis.get_majorticklocs()):
        return ""
    label = axis.get_label_text()
    heading = f"{name} axis {_quoted(label)}" if label else f"{name} axis"
    ticks = [
        _short(text) for text in (tick.get_text() for tick in axis.get_majorticklabels()) if text
    ]
    scale = axis.get_scale()
    if ticks and not all(_is_number(text) for text in ticks):
        if len(ticks) > _MAX_LABELS:
            ticks = [*ticks[: _MAX_LABELS - 1], "...", ticks[-1]]
        return f"{heading} {', '.join(ticks)}"
    low, high = sorted(map(float, axis.get_view_interval()))
    scale_note = "" if scale == "linear" else f" ({scale})"
    return f"{heading} {_number(low)} to {_number(high)}{scale_note}"


def _marks(axes: Any) -> Iterable[str]:
    """The lines, points, bars and so on, each with its label and the number of its points."""
    bars = [part for part in axes.containers if type(part).__name__ == "BarContainer"]
    in_bars = {id(patch) for bar in bars for patch in bar.patches}
    for bar in bars:
        heights = [patch.get_height() for patch in bar.patches]
        is_horizontal = bar.orientation == "horizontal" if hasattr(bar, "orientation") else False
        values = [patch.get_width() for patch in bar.patches] if is_horizontal else heights
        yield _mark("bar", len(values), bar.get_label(), values)
    for line in axes.lines:
        values = line.get_ydata(orig=False)
        if len(values):
            kind = "line" if line.get_linestyle() not in {"None", "", " "} else "row of markers"
            yield _mark("point", len(values), line.get_label(), values, of=f"{kind} with ")
    for collection in axes.collections:
        offsets, label = collection.get_offsets(), collection.get_label()
        if any(kind.__name__ == "PathCollection" for kind in type(collection).__mro__):
            yield _mark("point", len(offsets), label, offsets[:, 1], of="scatter of ")
        else:
            yield type(collection).__name__
    for image in axes.images:
        rows, columns = image.get_array().shape[:2]
        yield f"image of {rows} x {columns} values"
    wedges = [patch for patch in axes.patches if type(patch).__name__ == "Wedge"]
    if wedges:
        names = ", ".join(filter(None, (_short(_label(wedge.get_label())) for wedge in wedges)))
        yield f"{len(wedges)} wedges{f' ({names})' if names else ''}"
    shapes = [patch for patch in axes.patches if id(patch) not in in_bars and patch not in wedges]
    if shapes:
        yield f"{len(shapes)} shapes"


def _mark(noun: str, count: int, label: object, values: Any, of: str = "") -> str:
    """`3 bars "sales" from 1 to 4`."""
    name = _label(label)
    plural = "" if count == 1 else "s"
    text = f"{of}{count} {noun}{plural}" + (f" {_quoted(name)}" if name else "")
    numpy: Any = sys.modules["numpy"]
    numbers = numpy.ma.filled(numpy.ma.asarray(values, dtype=float), numpy.nan)
    finite = numbers[numpy.isfinite(numbers)]
    if not len(finite):
        return text
    return f"{text} from {_number(finite.min())} to {_number(finite.max())}"


def _label(label: object) -> str:
    """The label that a legend shows; matplotlib's own begin with an underscore."""
    text = str(label or "")
    return "" if text.startswith("_") else text


def _short(text: object) -> str:
    flat = " ".join(str(text).split())
    return flat if len(flat) <= _LABEL_CHARACTERS else flat[: _LABEL_CHARACTERS - 4] + " ..."


def _quoted(text: object) -> str:
    return f'"{_short(text)}"'


def _number(value: float) -> str:
    return f"{value:.6g}"


def _is_number(text: str) -> bool:
    try:
        float(text.replace("\N{MINUS SIGN}", "-").replace(",", ""))
    except ValueError:
        return text.startswith("$")  # mathematics, as on a logarithmic axis
    return True


def save_unsaved_figures(work: str) -> None:
    """Save the open figures that were never saved into the directory `work`; ignores errors."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None or not helpers.Gcf.figs:
        return
    deadline = time.monotonic() + MAX_SECONDS
    number = 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for figure in _unsaved_figures(helpers):
                if time.monotonic() >= deadline:
                    return
                number = _next_free_number(work, number + 1)
                figure.savefig(f"{work}/figure-{number}.png", format="png")
    except BaseException:  # noqa: BLE001, S110
        pass


def _unsaved_figures(helpers: Any) -> list[Any]:
    figures = [manager.canvas.figure for manager in helpers.Gcf.get_all_fig_managers()]
    unsaved = [figure for figure in figures if figure.axes and not hasattr(figure, SAVED)]
    return [figure for figure in unsaved if _count_pixels(figure) <= MAX_PIXELS][:MAX_FIGURES]


def _count_pixels(figure: Any) -> float:
    width, height = figure.get_size_inches()
    return float(width * height * figure.dpi**2)


def _next_free_number(work: str, number: int) -> int:
    """The first number from `number` on for which no file exists."""
    while os.path.lexists(f"{work}/figure-{number}.png"):
        number += 1
    return number
