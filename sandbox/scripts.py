"""The programs that pip put into a virtual environment: `pytest` and the like.

Each names its interpreter in its first line, by the path that the environment has on this machine.
A sandbox shows the environment elsewhere, where that line has to name the new path.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sandbox import policy

NOT_OFFERED = "pip*"
"""There is nothing that it could install from."""


def scripts(environment: Path) -> Iterator[tuple[str, bytes]]:
    """Their names, and their texts with the interpreter's path in a sandbox."""
    own = f"#!{environment.absolute()}/bin/".encode()
    for each in sorted((environment / "bin").iterdir()):
        if each.is_file() and not each.is_symlink() and not each.match(NOT_OFFERED):
            data = each.read_bytes()
            if data.startswith(own):
                yield each.name, data.replace(own, f"#!{policy.VENV}/bin/".encode(), 1)
