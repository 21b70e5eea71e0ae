"""Optional libraries, and the command that installs them."""

from __future__ import annotations

import sys


def install_command(extra: str) -> str:
    """What to type for an extra of pyproject.toml. Imports nothing."""
    return f"{sys.executable} -m pip install 'fettle[{extra}]'"
