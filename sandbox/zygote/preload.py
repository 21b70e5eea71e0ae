"""Loading the usual libraries once, in the process that code processes are forked from.

A library that is loaded here costs a run nothing. It must be there unseen: no thread, no state
that a program would notice, nothing that two runs share and could recognise each other by.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import linecache
import os
import sys
import threading
import warnings
from collections.abc import Iterator

from sandbox.zygote import charts

STANDARD = (
    *("abc", "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime", "enum"),
    *("functools", "heapq", "inspect", "io", "itertools", "json", "math"),
    *("operator", "pathlib", "random", "re", "string", "struct", "textwrap", "threading", "time"),
    *("traceback", "types", "typing", "warnings", "weakref"),
)
INSTALLED = ("numpy", "PIL.Image", "PIL.PngImagePlugin", "matplotlib.pyplot", "pandas")


def load(*, libraries: bool = True) -> None:
    """Import what programs usually do, also the usual `libraries`, leaving out those that are not
    installed, and pay what their first use costs. Raises RuntimeError where a thread was started:
    forks would be without it.
    """
    with _unchanged():
        for word in (*STANDARD, *(INSTALLED if libraries else ())):
            with contextlib.suppress(ImportError):
                importlib.import_module(word)
        if "matplotlib.pyplot" in sys.modules:
            importlib.import_module("matplotlib.backends.backend_agg")
            charts.install()
            _draw()
    if threading.active_count() > 1 or len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208
        raise RuntimeError("a library that was loaded ahead has started a thread")
    _forget()
    gc.collect()
    gc.freeze()  # collections in a fork leave these objects, and their pages, alone


def _forget() -> None:
    """Empty the caches that a program would see, and those of fonts, which are open files."""
    linecache.clearcache()
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.font_manager"]._get_font.cache_clear()  # noqa: SLF001
        sys.modules["matplotlib.mathtext"].MathTextParser._parse_cached.cache_clear()  # noqa: SLF001


@contextlib.contextmanager
def _unchanged() -> Iterator[None]:
    """Put back what imports change beside `sys.modules`."""
    environment, path = dict(os.environ), list(sys.path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    sys.path[:] = path
    if dict(os.environ) != environment:
        os.environ.clear()
        os.environ.update(environment)


def _draw() -> None:
    """Draw and save a figure of the usual kinds: fonts, ticks, text and the backend are ready."""
    matplotlib = sys.modules["matplotlib"]
    pyplot = sys.modules["matplotlib.pyplot"]
    with matplotlib.rc_context():
        figure, axes = pyplot.subplots(1, 2)
        axes[0].plot([0, 1], [0, 1], label="a")
        axes[0].scatter([0, 1], [1, 0], marker="x")
        axes[0].set(title="Title", xlabel="x $x^2$", ylabel="0.123456789")
        axes[0].legend()
        axes[1].hist([1, 2, 2, 3], bins=3)
        axes[1].bar([1, 2], [3, 4])
        figure.tight_layout()
        figure.savefig(io.BytesIO(), format="png")
        pyplot.close("all")
