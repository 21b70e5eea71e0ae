"""Writes a file in one step: a reader sees the old file or the complete new file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Write a file at `path` in one step, and sync it to its disk. It replaces an existing file.

    Only its owner can read the file. Raises OSError, and then leaves no new file.
    """
    write_parts(path, (content,))


def write_parts(path: Path, parts: Iterable[bytes]) -> None:
    """As `write`. If `parts` raises an exception, an existing file stays as it is."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as part:
        try:
            part.writelines(parts)
            part.flush()
            os.fsync(part.fileno())
            Path(part.name).replace(path)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
