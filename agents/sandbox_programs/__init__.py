"""Fettle's programs that run inside a sandbox. A program is sent as text and imports no module of
Fettle."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent


@cache
def source(name: str) -> str:
    """The text of the program in `NAME.py`."""
    return (_HERE / f"{name}.py").read_text()


@cache
def shell_marks() -> str:
    """The text that bash evaluates before a command line."""
    return (_HERE / "shell.sh").read_text()


def pth_line(name: str, **variables: object) -> str:
    """A line of a `.pth` file that executes the program in `NAME.py`, which finds the `variables`
    defined. `site` executes a line only if it begins with an import."""
    defined = {"__name__": f"fettle_{name}", **variables}
    return f"import sys; exec({source(name)!a}, {defined!a})"


ARGV = ("python", "-I", "-S")
"""An interpreter that imports nothing from the files in its directory."""
