"""Which of the files and links that a run left are kept in the workspace, and why others are not.

A run may leave any number of files: of more than `MOST_NEW` new ones, those that git ignores and
those of packages and caches are not kept, so that the job's own come first. A workspace always has
room for the files that tools write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from agents.errors import PathOutside
from agents.links import below_submodule
from agents.paths import checked, own_files, visible
from agents.ports import Ports, Workspace
from agents.runs.installed import belongs_to_install

MOST_NEW = 1_000
"""Of one run. Each file is a blob, and a line of every later manifest."""
ROOM = 0.9
"""The part of the workspace's files that runs can fill; tools can add the rest."""
MADE_BY_PROGRAMS = frozenset({"node_modules", ".venv", ".tox", ".nox", ".cache"})
"""Folders that package managers and caches fill."""

Entry = bytes | str
"""A file's bytes, or the target of a symbolic link."""


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """The files and `links` that are kept, and a line for each reason why others are not."""

    files: Mapping[str, bytes]
    links: Mapping[str, str]
    unkept: tuple[str, ...]


async def storable(ports: Ports, changed: Mapping[str, Entry]) -> KeptFiles:
    """Choose among the files and links that a run has `changed`."""
    nameable, unkept = _nameable(ports.workspace, changed)
    kept, unkept_too = await _few(ports, nameable)
    files = {path: entry for path, entry in kept.items() if isinstance(entry, bytes)}
    links = {path: entry for path, entry in kept.items() if isinstance(entry, str)}
    return KeptFiles(files, links, (*unkept, *unkept_too))


def _nameable(
    workspace: Workspace, changed: Mapping[str, Entry]
) -> tuple[dict[str, Entry], list[str]]:
    """The files and links that a workspace can hold, and the reasons for the others."""
    kept: dict[str, Entry] = {}
    refused: list[str] = []
    in_submodules = Counter[str]()
    for path, entry in changed.items():
        if belongs_to_install(path):
            refused.append(f"{path}: what is installed stays as it is")
        elif submodule := below_submodule(workspace, path):
            in_submodules[submodule] += 1
        elif isinstance(entry, str) and path.rpartition("/")[2].lower() == ".gitmodules":
            refused.append(f"{path}: git takes no symbolic link of this name")
        else:
            try:
                kept[checked(path)] = entry
            except PathOutside as error:
                refused.append(str(error))
    refused += [
        f"{submodule}: {count} changes in this submodule, which belong to another repository"
        for submodule, count in in_submodules.items()
    ]
    return kept, refused


async def _few(ports: Ports, entries: dict[str, Entry]) -> tuple[dict[str, Entry], list[str]]:
    """The entries without those that are too many, and the reasons for them."""
    workspace, own = ports.workspace, own_files(ports.workspace)
    there = {*workspace.list(), *workspace.links()}
    new = [path for path in sorted(entries) if path not in there]
    room = min(MOST_NEW, int(ROOM * ports.limits.workspace_files) - len(own))
    if len(new) <= room:
        return entries, []
    files = {path: entry for path, entry in entries.items() if isinstance(entry, bytes)}
    by_programs = {path for path in new if not MADE_BY_PROGRAMS.isdisjoint(path.split("/"))}
    ignored = (by_programs | await workspace.ignored(files)).intersection(new)
    rest = [path for path in new if path not in ignored][max(0, room) :]
    unkept = []
    if ignored:
        why = f"that git ignores or package managers make; a run left more than {MOST_NEW} files"
        unkept.append(f"{_some(ignored)}, {why}")
    if rest:
        unkept.append(f"{_some(rest)}: of one run at most {MOST_NEW} new files are kept")
    dropped = ignored.union(rest)
    return {path: entry for path, entry in entries.items() if path not in dropped}, unkept


def _some(paths: Collection[str]) -> str:
    first = visible(min(paths))
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"
