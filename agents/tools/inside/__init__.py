"""Programs that run inside a room. Each is handed over as text: it may import nothing of ours."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent


@cache
def source(name: str) -> str:
    """The text of the program in `NAME.py`."""
    return (_HERE / f"{name}.py").read_text()
