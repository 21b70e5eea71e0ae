"""Figures that a program drew and never saved: what `show` would have put on a screen.

At the end of a run that went well each figure of pyplot that is still open, and was in no file yet,
is saved as `/work/figure-N.png`. A fork does it, in what time and memory the run has left: whatever
becomes of it, the run ended as its code did.
"""

# ruff: noqa: PTH116, PTH123

from __future__ import annotations

import os
import resource
import signal
import sys
import time

from sandbox.room import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_FIGURES = 10
MOST_PIXELS = 8_000_000
NEEDED_BYTES = 96 << 20
"""Of memory, to draw a figure of so many pixels and to pack it."""
MOST_SECONDS, LEAST_SECONDS = 2.0, 0.25
_PAUSE_SECONDS = 0.005
_SAVED = "_saved_by_program"
_PICTURES = (".png", ".jpg", ".jpeg", ".svg", ".pdf", ".webp", ".tif", ".tiff", ".eps", ".ps")


class Rest:
    """What a run has left when its code has ended, by its limits: wall time, memory in bytes."""

    def __init__(self, wall_seconds: float, memory_bytes: float) -> None:
        self._began = time.time()
        self._ends = time.monotonic() + wall_seconds
        self._memory = memory_bytes

    def seconds(self) -> float:
        """How long saving may take: at most a quarter of what wall and processor time are left."""
        cpu, _ = resource.getrlimit(resource.RLIMIT_CPU)
        of_cpu = float("inf") if cpu < 0 else cpu - time.process_time()
        return min(MOST_SECONDS, of_cpu / 4, (self._ends - time.monotonic()) / 4)

    def bytes(self) -> float:
        """Of memory, by this process's peak (man 2 getrusage: in KiB)."""
        return self._memory - 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def has_seen(self, path: str) -> bool:
        """Whether a file was written since."""
        return os.stat(path).st_mtime >= self._began


def remember() -> None:
    """Have each figure remember that it was saved. For the process that code processes are copied
    from, with pyplot loaded.
    """
    canvas = sys.modules["matplotlib.backend_bases"].FigureCanvasBase
    whole = canvas.print_figure

    def print_figure(self: Any, *args: Any, **kwargs: Any) -> Any:
        done = whole(self, *args, **kwargs)
        setattr(self.figure, _SAVED, True)
        return done

    print_figure.__doc__, print_figure.__wrapped__ = whole.__doc__, whole  # type: ignore[attr-defined]
    canvas.print_figure = print_figure


def save(rest: Rest) -> None:
    """Save what is open and unsaved; nothing of this fails."""
    try:
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None or not pyplot.get_fignums():
            return
        seconds = rest.seconds()
        figures = _unsaved(rest)
        if figures and seconds >= LEAST_SECONDS and rest.bytes() >= NEEDED_BYTES:
            _apart(figures, time.monotonic() + seconds)
    except BaseException:  # noqa: BLE001, S110
        pass


def _unsaved(rest: Rest) -> list[Any]:
    """The figures to save. Where the program has loaded pyplot itself none remembers anything, and
    one picture that was written is taken for all of them.
    """
    canvas = sys.modules["matplotlib.backend_bases"].FigureCanvasBase
    if not hasattr(canvas.print_figure, "__wrapped__") and _wrote_pictures(rest):
        return []
    open_ones = sys.modules["matplotlib._pylab_helpers"].Gcf.get_all_fig_managers()
    figures = [each.canvas.figure for each in open_ones]
    drawn = [each for each in figures if each.axes and not hasattr(each, _SAVED)]
    return [each for each in drawn if _pixels(each) <= MOST_PIXELS][:MOST_FIGURES]


def _wrote_pictures(rest: Rest) -> bool:
    return any(
        name.lower().endswith(_PICTURES) and rest.has_seen(f"{folder}/{name}")
        for folder, _, names in os.walk(program.WORK)
        for name in names
    )


def _pixels(figure: Any) -> float:
    width, height = figure.get_size_inches()
    return float(width * height * figure.dpi**2)


def _apart(figures: list[Any], until: float) -> None:
    """Save them in a fork, which ends by itself or is ended at `until`."""
    import warnings  # noqa: PLC0415  (there, if pyplot is)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads that a fork does not have
        pid = os.fork()
    if pid == 0:
        try:
            for number, figure in enumerate(figures, 1):
                _write(figure, number)
        finally:
            os._exit(0)
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if time.monotonic() >= until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return
        time.sleep(_PAUSE_SECONDS)


def _write(figure: Any, number: int) -> None:
    """Save one, under the first name from `number` on that is free."""
    import io  # noqa: PLC0415

    if number == 1:
        null = os.open(os.devnull, os.O_RDWR)
        for fd in range(3):
            os.dup2(null, fd)
    packed = io.BytesIO()
    figure.savefig(packed, format="png")
    while os.path.lexists(path := f"{program.WORK}/figure-{number}.png"):
        number += 1
    with open(path, "xb") as file:
        file.write(packed.getbuffer())
