"""The files of a commit that configure checks. A job must not configure its own checks, so checks
use the commit's versions of these files.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass

from agents.checks.copied_files import (
    SHARED_SETTINGS,
    configures,
    is_checker,
    placed,
    pytest_settings,
)
from agents.layout.site import ENTRY_POINTS, project_site
from agents.ports import Workspace
from agents.runs.program import metadata_texts


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit that a workspace is based on."""

    site: Mapping[str, bytes]
    """The site files of the project: the job's modules, and the entry points of the commit."""
    settings: Collection[str]
    """Paths of changed files that configure checks by their content, because a link of the commit
    leads to them, or because they are new and have the name of pytest."""
    links: Mapping[str, str]
    """The commit's symbolic links: targets by path."""
    read: Callable[[str], Awaitable[bytes | None]]
    """Reads a file of the commit; None if the commit has no such file."""


async def commit_of(workspace: Workspace) -> Commit:
    """The commit of a workspace on a repository."""
    start = workspace.fork()
    await start.checkout(None)
    links = start.links()
    settings = {placed(path, links) for path in links if configures(path)}
    changed = workspace.changed()
    settings |= {path for path in changed if await _has_new_settings(path, workspace)}
    settings |= {path for path in changed if is_checker(path)} - start.list().keys()
    return Commit(await _site(workspace, start, settings), settings, links, workspace.original)


async def _site(
    workspace: Workspace, start: Workspace, settings: Collection[str]
) -> dict[str, bytes]:
    """The site files of the project (`Commit.site`). Files in `settings` have their text of the
    commit, which is the workspace `start`."""
    job_texts, commit_texts = await metadata_texts(workspace), await metadata_texts(start)
    texts = {name: text for name, text in job_texts.items() if name not in settings}
    texts |= {name: text for name, text in commit_texts.items() if name in settings}
    site = project_site(workspace.list().keys() | texts.keys(), texts)
    modules = {name: data for name, data in site.items() if not _is_entry_point(name)}
    entry_points = {
        name: data
        for name, data in project_site(start.list(), commit_texts).items()
        if _is_entry_point(name)
    }
    return {**modules, **entry_points}


def _is_entry_point(name: str) -> bool:
    return name.endswith(f"/{ENTRY_POINTS}")


async def _has_new_settings(path: str, workspace: Workspace) -> bool:
    """Whether a changed file may configure pytest in another way than the commit's version."""
    if path.rpartition("/")[2] not in SHARED_SETTINGS:
        return False
    if path in workspace.links():
        return True
    before, after = await workspace.original(path), await workspace.read(path)
    return pytest_settings(path, before) != pytest_settings(path, after)
