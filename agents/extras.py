"""Optional libraries, and the command that installs them."""

from __future__ import annotations

import sys


def install_command(extra: str) -> str:
    """The command that installs an extra of pyproject.toml. Imports no library."""
    return f"{sys.executable} -m pip install 'fettle[{extra}]'"
