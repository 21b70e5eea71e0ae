"""Loads the usual libraries once, in the process that code processes are forked from.

A library that is loaded here costs a run no time. Loading must leave no trace: no thread, no state
that a program would notice, and no value that two runs share and could recognise.
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
    """Import the modules that programs usually need, and with `libraries` also the installed ones
    of `INSTALLED`; then use them once, because the first use is slow. Raises RuntimeError if a
    library has started a thread, because forks would not have it.
    """
    with _restoring_process_state():
        for name in (*STANDARD, *(INSTALLED if libraries else ())):
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        if "matplotlib.pyplot" in sys.modules:
            importlib.import_module("matplotlib.backends.backend_agg")
            charts.install()
            _draw_figure()
    if threading.active_count() > 1 or len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208
        raise RuntimeError("a preloaded library has started a thread")
    _clear_caches()
    gc.collect()
    gc.freeze()  # collections in a fork do not touch these objects and their memory pages


def _clear_caches() -> None:
    """Clear the caches that a program would see, and the caches of fonts, which are open files."""
    linecache.clearcache()
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.font_manager"]._get_font.cache_clear()  # noqa: SLF001
        sys.modules["matplotlib.mathtext"].MathTextParser._parse_cached.cache_clear()  # noqa: SLF001


@contextlib.contextmanager
def _restoring_process_state() -> Iterator[None]:
    """Restore the module path and the environment after imports that change them."""
    environment, path = dict(os.environ), list(sys.path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    sys.path[:] = path
    if dict(os.environ) != environment:
        os.environ.clear()
        os.environ.update(environment)


def _draw_figure() -> None:
    """Draw and save a figure of the usual kinds, so that fonts, ticks, text and the backend are
    ready."""
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
