"""Writing a file in one step: a reader sees all of it or none."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Put a file at `path` in one step, over one that is there, and synced to its disk.

    Readable by its owner alone. Raises OSError, and then leaves no file.
    """
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".new-", delete=False) as part:
        try:
            part.write(content)
            part.flush()
            os.fsync(part.fileno())
            Path(part.name).replace(path)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
