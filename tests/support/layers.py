"""Layers for tests: directory trees that sandboxes begin with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sandbox.local.stepdown import give_to_sandbox_user


def make(top: Path, name: str, files: Mapping[str, bytes | str]) -> Path:
    """The layer `name` below `top`: text is where a link leads. What begins with `#!` can be
    executed.
    """
    layer = top / name
    layer.mkdir()
    for path, data in files.items():
        place = layer / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, str):
            place.symlink_to(data)
            continue
        place.write_bytes(data)
        place.chmod(0o755 if data.startswith(b"#!") else 0o644)
    give_to_sandbox_user(layer)
    return layer
