"""What a copy of layers takes of a tmpfs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.policy import PAGE_BYTES
from sandbox.protocol import SandboxUnavailable


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes, in whole pages, and files with directories and links."""

    bytes: int = 0
    files: int = 0


def size_of(top: Path, layers: Sequence[str]) -> Size:
    """At most what the layers below `top` take together: what several of them have at one path is
    counted in each. Raises SandboxUnavailable where one cannot be read.
    """
    pages, files = 0, 0
    folders = [str(top / name) for name in layers]
    try:
        while folders:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    pages += -(-entry.stat(follow_symlinks=False).st_size // PAGE_BYTES)
                    files += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
    except OSError as error:
        raise SandboxUnavailable(f"a layer cannot be read: {error}") from error
    return Size(pages * PAGE_BYTES, files)
