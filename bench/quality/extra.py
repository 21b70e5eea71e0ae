"""Loading what belongs to an extra, so that its absence is told with the command that mends it."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from cli.errors import CliError

COMMAND = f"{sys.executable} -m pip install 'fettle[plots]'"


def plots() -> ModuleType:
    """`bench.quality.plots`. Raises CliError where its libraries are not installed."""
    try:
        return importlib.import_module("bench.quality.plots")
    except ModuleNotFoundError as error:
        raise CliError("plots need an extra", f"{error.name} is not installed", COMMAND) from None
