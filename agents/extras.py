"""Extras: libraries that Fettle can do without, and the command that installs them here."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def install_command(extra: str) -> str:
    """What to type for an extra of pyproject.toml; where there is no pip here, with one from
    elsewhere. Imports nothing."""
    ours = f"{sys.executable} -m pip" if find_spec("pip") else f"pip --python {sys.executable}"
    return f"{ours} install 'fettle[{extra}]'"
