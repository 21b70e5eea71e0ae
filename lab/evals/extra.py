"""Loads modules of an extra, so that an error names the command that installs it."""

from __future__ import annotations

import importlib
from types import ModuleType

from agents.extras import install_command
from cli.errors import CliError


def plots() -> ModuleType:
    """`lab.evals.report.plots`. Raises CliError if its libraries are not installed."""
    try:
        return importlib.import_module("lab.evals.report.plots")
    except ModuleNotFoundError as error:
        reason, command = f"{error.name} is not installed", install_command("plots")
        raise CliError("plots need an extra", reason, command) from None
