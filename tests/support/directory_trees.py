"""Directory trees for tests, which sandboxes begin with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sandbox.local.stepdown import give_to_sandbox_user


def make_tree(top: Path, name: str, files: Mapping[str, bytes | str]) -> Path:
    """Make the tree `name` below `top`. Bytes are the content of a file; text is the target of a
    symbolic link. A file that begins with `#!` is executable.
    """
    tree = top / name
    tree.mkdir()
    for relative_path, content in files.items():
        path = tree / relative_path
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.symlink_to(content)
            continue
        path.write_bytes(content)
        path.chmod(0o755 if content.startswith(b"#!") else 0o644)
    give_to_sandbox_user(tree)
    return tree
