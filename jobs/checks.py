"""CheckSpec: the acceptance checks that a job carries."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """Test files and a command. `manifest` is the digest of the manifest of the files, which are
    no part of the workspace; `paths` are their names; `command` None: pytest on them.
    """

    manifest: str
    paths: tuple[str, ...]
    command: str | None = None
