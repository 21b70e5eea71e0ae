"""The release that a process runs: two processes run the same one if they name the same one."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

_PACKAGES = ("agents", "api", "jobs", "sandbox", "settings", "worker")
_CODE = frozenset({".py", ".lua", ".j2", ".html", ".js", ".css"})
_DIGITS = 12


@cache
def release() -> str:
    """The version, and the beginning of a SHA-256 over the services' code, as `0.1.0+3f2a91c04d5e`.

    A clone and a wheel of the same commit have the same. A file that was changed by hand shows.
    """
    root = Path(__file__).parents[2]
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.suffix in _CODE and path.is_file():
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                digest.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    return f"{version('fettle')}+{digest.hexdigest()[:_DIGITS]}"
