"""Describes the charts that a program saves: each PNG or SVG file of matplotlib gets a text
`Description`, for readers who do not see pictures.

The Agg backend gets a canvas that adds the description to the metadata of a file, unless the
program sets one, and remembers that its figure was saved. The canvas is installed at once if the
backend is loaded, or else when the program imports the backend. A program that is no fork of a
zygote gets this file as a line of a `.pth` file, so it imports nothing of Fettle.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

SAVED = "_saved_by_program"
"""An attribute of a figure that was saved."""
KEYWORD = "Description"
FORMATS = ("png", "svg")
MOST_CHARACTERS = 1_000
MOST_AXES = 12
MOST_ARTISTS = 12
"""In one description, and on each pair of axes."""
_LABELS = 8
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
    """Have the Agg backend describe the figures that it saves."""
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
        def print_figure(self, filename: Any, *args: Any, **kwargs: Any) -> Any:
            described = _with_description(self, filename, kwargs)
            done = super().print_figure(filename, *args, **described)
            setattr(self.figure, SAVED, True)
            return done

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
    """What a figure shows, on one line: title, axes with labels and ranges, and the number of
    points of each line, bar chart and so on. Empty if there is nothing to describe. Nothing of
    this fails."""
    try:
        title = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
        drawn = [axes for axes in figure.axes if axes.get_visible() and axes.has_data()]
        drawn = [axes for axes in drawn if axes.get_label() != "<colorbar>"]
        texts = [_axes(axes) for axes in drawn[:MOST_AXES]]
        if len(drawn) > MOST_AXES:
            texts.append(f"and {len(drawn) - MOST_AXES} more charts")
        if len(drawn) > 1:
            texts = [f"({number}) {text}" for number, text in enumerate(texts, 1)]
        text = " ".join(([f"{_quoted(title)}."] if title else []) + texts)
    except Exception:  # noqa: BLE001
        return ""
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 4] + " ..."


def _axes(axes: Any) -> str:
    marks = list(_marks(axes))
    if len(marks) > MOST_ARTISTS:
        marks = [*marks[:MOST_ARTISTS], f"and {len(marks) - MOST_ARTISTS} more"]
    title = axes.get_title()
    named = f"{_quoted(title)}: " if title else ""
    parts = ["; ".join(marks) or "a drawing"]
    if axes.axison:
        parts += [_axis("x", axes.xaxis), _axis("y", axes.yaxis)]
    return f"{named}{', '.join(filter(None, parts))}."


def _axis(name: str, axis: Any) -> str:
    """The label of an axis, and its range: the texts at its ticks if they are no numbers. Empty
    for an axis without ticks."""
    if not len(axis.get_majorticklocs()):
        return ""
    label = axis.get_label_text()
    named = f"{name} axis {_quoted(label)}" if label else f"{name} axis"
    ticks = [
        _short(text) for text in (tick.get_text() for tick in axis.get_majorticklabels()) if text
    ]
    scale = axis.get_scale()
    if ticks and not all(_is_number(text) for text in ticks):
        shown = ticks if len(ticks) <= _LABELS else [*ticks[: _LABELS - 1], "...", ticks[-1]]
        return f"{named} {', '.join(shown)}"
    low, high = sorted(map(float, axis.get_view_interval()))
    return f"{named} {_number(low)} to {_number(high)}{'' if scale == 'linear' else f' ({scale})'}"


def _marks(axes: Any) -> Iterable[str]:
    """The lines, points, bars and so on, each with its label and the number of its points."""
    bars = [part for part in axes.containers if type(part).__name__ == "BarContainer"]
    in_bars = {id(patch) for bar in bars for patch in bar.patches}
    for bar in bars:
        heights = [patch.get_height() for patch in bar.patches]
        across = bar.orientation == "horizontal" if hasattr(bar, "orientation") else False
        values = [patch.get_width() for patch in bar.patches] if across else heights
        yield _mark("bar", len(values), bar.get_label(), values)
    for line in axes.lines:
        values = line.get_ydata(orig=False)
        if len(values):
            kind = "line" if line.get_linestyle() not in {"None", "", " "} else "row of markers"
            yield _mark("point", len(values), line.get_label(), values, of=f"{kind} with ")
    for each in axes.collections:
        offsets = each.get_offsets()
        if any(kind.__name__ == "PathCollection" for kind in type(each).__mro__):
            yield _mark("point", len(offsets), each.get_label(), offsets[:, 1], of="scatter of ")
        else:
            yield type(each).__name__
    for image in axes.images:
        rows, columns = image.get_array().shape[:2]
        yield f"image of {rows} x {columns} values"
    wedges = [each for each in axes.patches if type(each).__name__ == "Wedge"]
    if wedges:
        names = ", ".join(filter(None, (_short(_label(each.get_label())) for each in wedges)))
        yield f"{len(wedges)} wedges{f' ({names})' if names else ''}"
    others = [each for each in axes.patches if id(each) not in in_bars and each not in wedges]
    if others:
        yield f"{len(others)} shapes"


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
