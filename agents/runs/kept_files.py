"""Chooses the files and links of a run that the workspace keeps, with the reasons for the others.

A run may leave any number of files. If more than `MOST_NEW` are new, the workspace does not keep
those that git ignores, and those of packages and caches, so that the files of the job come first.
Runs never fill the workspace: tools can always write further files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from agents.errors import PathOutside
from agents.links import submodule_of
from agents.paths import checked, own_files, visible
from agents.ports import Ports, Workspace
from agents.runs.installed import belongs_to_install

MOST_NEW = 1_000
"""New files of one run that are kept. Each is a blob, and a line of every later manifest."""
SHARE_OF_RUNS = 0.9
"""The part of the workspace's files that runs can fill; tools can add the rest."""
MADE_BY_PROGRAMS = frozenset({"node_modules", ".venv", ".tox", ".nox", ".cache"})
"""Folders that package managers and caches fill."""

Entry = bytes | str
"""The bytes of a file, or the target of a symbolic link."""


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """The files and `links` to keep; and `reasons`, one line for each group of the others."""

    files: Mapping[str, bytes]
    links: Mapping[str, str]
    reasons: tuple[str, ...]


async def choose_kept(ports: Ports, changed: Mapping[str, Entry]) -> KeptFiles:
    """Choose among the files and links that a run has `changed`."""
    valid, reasons = _without_invalid(ports.workspace, changed)
    kept, more_reasons = await _without_surplus(ports, valid)
    files = {path: entry for path, entry in kept.items() if isinstance(entry, bytes)}
    links = {path: entry for path, entry in kept.items() if isinstance(entry, str)}
    return KeptFiles(files, links, (*reasons, *more_reasons))


def _without_invalid(
    workspace: Workspace, changed: Mapping[str, Entry]
) -> tuple[dict[str, Entry], list[str]]:
    """The entries that a workspace can hold, and the reasons for the others."""
    valid: dict[str, Entry] = {}
    reasons: list[str] = []
    in_submodules = Counter[str]()
    for path, entry in changed.items():
        if belongs_to_install(path):
            reasons.append(f"{path}: what is installed stays as it is")
        elif submodule := submodule_of(workspace, path):
            in_submodules[submodule] += 1
        elif isinstance(entry, str) and path.rpartition("/")[2].lower() == ".gitmodules":
            reasons.append(f"{path}: git takes no symbolic link of this name")
        else:
            try:
                valid[checked(path)] = entry
            except PathOutside as error:
                reasons.append(str(error))
    reasons += [
        f"{submodule}: {count} changes in this submodule, which belong to another repository"
        for submodule, count in in_submodules.items()
    ]
    return valid, reasons


async def _without_surplus(
    ports: Ports, entries: dict[str, Entry]
) -> tuple[dict[str, Entry], list[str]]:
    """The entries without new ones that are too many, and the reasons for those."""
    workspace = ports.workspace
    old = {*workspace.list(), *workspace.links()}
    new = [path for path in sorted(entries) if path not in old]
    space = int(SHARE_OF_RUNS * ports.limits.workspace_files) - len(own_files(workspace))
    most = max(0, min(MOST_NEW, space))
    if len(new) <= most:
        return entries, []
    files = {path: entry for path, entry in entries.items() if isinstance(entry, bytes)}
    by_programs = {path for path in new if not MADE_BY_PROGRAMS.isdisjoint(path.split("/"))}
    ignored = (by_programs | await workspace.ignored(files)).intersection(new)
    surplus = [path for path in new if path not in ignored][most:]
    reasons = []
    if ignored:
        why = "that git ignores or package managers make"
        reasons.append(f"{_name(ignored)}, {why}: the run left more than {most} new files")
    if surplus:
        reasons.append(f"{_name(surplus)}: at most {most} new files of one run are kept")
    dropped = ignored.union(surplus)
    return {path: entry for path, entry in entries.items() if path not in dropped}, reasons


def _name(paths: Collection[str]) -> str:
    first = visible(min(paths))
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"
