"""The files that a job has changed, against the files that it started with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.graph.state import State
from agents.ports import Version, Workspace
from agents.runs.installed import belongs_to_install


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs. `before` is None for a new file, `after` for a deleted file."""

    path: str
    before: bytes | None
    after: bytes | None


async def changed_files(state: State, workspace: Workspace) -> Sequence[ChangedFile]:
    """The changed files, sorted by path. Symbolic links and installed packages are left out."""
    start = await workspace.manifest(state["job"].get("start"))
    paths = {*start, *await workspace.manifest(workspace.digest), *workspace.changed()}
    changed = []
    for path in sorted(paths):
        if belongs_to_install(path):
            continue
        before = await _content_at_start(path, start.get(path), workspace)
        after = await workspace.read(path)
        if before != after:
            changed.append(ChangedFile(path, before, after))
    return changed


async def _content_at_start(
    path: str, version: Version | None, workspace: Workspace
) -> bytes | None:
    if version is None:
        return await workspace.original(path)
    if version.target is not None:
        return None
    return await workspace.kept(version.digest)
