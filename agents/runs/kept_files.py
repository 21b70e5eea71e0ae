"""Chooses the files and links of a run that the workspace keeps, with the reasons for the others,
and removes scratch files.

A run may leave any number of files. If more than `MOST_NEW` are new, the workspace does not keep
files that git ignores, and files of packages and caches. So the files of the job have priority.
Runs never fill the workspace: tools can always write further files.

The scratch directory holds files that the executor needs for its work, and that do not belong to
the job's result. They stay from one call to the next. They are removed at the end of each pass,
before the work is verified, reviewed and delivered
(ADR 85).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from langchain_core.messages import ToolMessage

from agents.attempt import Ports
from agents.calls.call_key import digest
from agents.calls.journal import finished_call, journaled
from agents.errors import PathOutside
from agents.links import submodule_of
from agents.paths import GIT, is_in_setup, is_scratch, normalize_path, own_files, visible
from agents.ports import CallKey, Finished, Workspace
from sandbox.paths import is_git_internal

MOST_NEW = 1_000
"""The number of new files that are kept of one run. Each file is a blob, and a line of every later
manifest."""
SHARE_OF_RUNS = 0.9
"""The part of the workspace's files that runs can fill; tools can add the rest."""
MADE_BY_PROGRAMS = frozenset({"node_modules", ".venv", ".tox", ".nox", ".cache"})
"""Folders that package managers and caches fill."""

_LEAVING = (
    "a symbolic link needs a relative target that stays in the repository, outside of .git and "
    "of submodules"
)

Entry = bytes | str
"""The bytes of a file, or the target of a symbolic link."""


@dataclass(frozen=True, slots=True)
class KeptFiles:
    """The files and links to keep."""

    files: Mapping[str, bytes]
    links: Mapping[str, str]
    dropped: Collection[str]
    """Links that an earlier run made, and that are not kept any more."""
    reasons: tuple[str, ...]
    """Why other files are not kept: one line for each group of files."""


async def choose_kept(
    ports: Ports, changed: Mapping[str, Entry], deleted: Iterable[str] = ()
) -> KeptFiles:
    """Choose among the files and links that a run has `changed`. The reasons also name the
    `deleted` paths that no workspace can hold: their deletion is not kept."""
    reasons: dict[str, list[str]] = defaultdict(list)
    valid = {}
    for path, entry in changed.items():
        if (reason := await _objection(ports, path, entry)) is None:
            valid[normalize_path(path)] = entry
        else:
            reasons[reason].append(path)
    for path in deleted:
        if (reason := _fault(path)) is not None:
            reasons[f"{reason} (deleted)"].append(path)
    leaving = await _leaving_links(ports.workspace, valid, {*deleted})
    if leaving:
        reasons[_LEAVING] = sorted(leaving)
    dropped = leaving - valid.keys()
    valid = {path: entry for path, entry in valid.items() if path not in leaving}
    entries = await _without_surplus(ports, valid, reasons)
    files, links = _files_and_links(entries)
    lines = (f"{_first_and_count(paths)}: {reason}" for reason, paths in reasons.items())
    return KeptFiles(files, links, dropped, tuple(lines))


async def _objection(ports: Ports, path: str, entry: Entry) -> str | None:
    """The reason why a workspace cannot hold the file or link; None if it can."""
    if is_in_setup(path):
        return "installed dependencies stay as they are"
    if ports.repository is not None and is_git_internal(path):
        return f"files in {GIT} belong to git"
    if submodule := submodule_of(ports.workspace, path):
        return f"changes in the submodule {visible(submodule)} belong to another repository"
    if submodule := _submodule_below(ports.workspace, path):
        return f"it would take the place of the submodule {visible(submodule)}"
    pointers = ports.workspace.lfs_pointers()
    if path in pointers and entry != await ports.workspace.original(path):
        return "Git LFS has the content of the file, and its pointer does not change"
    if isinstance(entry, str) and path.rpartition("/")[2].lower() == ".gitmodules":
        return "git takes no symbolic link of this name"
    return _fault(path)


async def _leaving_links(
    workspace: Workspace, changed: Mapping[str, Entry], deleted: Collection[str]
) -> set[str]:
    """The links of the job that would lead out of the repository in a clone with the patch. Scratch
    links, and links that git ignores, such as those of a virtual environment, stay for later runs:
    no patch has them."""
    files, links = _files_and_links(changed)
    leaving = workspace.leaving_links(links, {*files, *deleted})
    if not (leaving := {path for path in leaving if not is_scratch(path)}):
        return set()
    return leaving - await workspace.ignored({**files, **dict.fromkeys(leaving, b"")})


def _files_and_links(entries: Mapping[str, Entry]) -> tuple[dict[str, bytes], dict[str, str]]:
    files = {path: entry for path, entry in entries.items() if isinstance(entry, bytes)}
    return files, {path: entry for path, entry in entries.items() if isinstance(entry, str)}


def changes_in_submodules(workspace: Workspace, paths: Iterable[str]) -> list[str]:
    """Reasons why the changes of a run at these paths are not kept, after the workspace has its
    changes: the run may have changed `.gitmodules`."""
    names = {submodule for path in paths if (submodule := submodule_of(workspace, path))}
    return [
        f"{visible(name)}: a submodule belongs to another repository, and stays as long as "
        ".gitmodules declares it"
        for name in sorted(names)
    ]


def _submodule_below(workspace: Workspace, path: str) -> str | None:
    return next((name for name in workspace.submodules() if name.startswith(f"{path}/")), None)


def _fault(path: str) -> str | None:
    try:
        normalize_path(path)
    except PathOutside as error:
        return str(error).partition(":")[0]
    return None


async def _without_surplus(
    ports: Ports, entries: dict[str, Entry], reasons: dict[str, list[str]]
) -> dict[str, Entry]:
    """The entries without a surplus of new files; adds the reasons for the files that it omits."""
    workspace = ports.workspace
    old = {*workspace.list(), *workspace.links()}
    new = [path for path in sorted(entries) if path not in old]
    space = int(SHARE_OF_RUNS * ports.limits.workspace_files) - len(own_files(workspace))
    most = max(0, min(MOST_NEW, space))
    if len(new) <= most:
        return entries
    files, _ = _files_and_links(entries)
    by_programs = {path for path in new if not MADE_BY_PROGRAMS.isdisjoint(path.split("/"))}
    ignored = (by_programs | await workspace.ignored(files)).intersection(new)
    surplus = [path for path in new if path not in ignored][most:]
    if ignored:
        group = "ignored by git, or of packages"
        reasons[f"{group}: the run left more than {most} new files"] = sorted(ignored)
    if surplus:
        reasons[f"at most {most} new files of one run are kept"] = surplus
    dropped = ignored.union(surplus)
    return {path: entry for path, entry in entries.items() if path not in dropped}


def _first_and_count(paths: Collection[str]) -> str:
    first = visible(min(paths))
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"


async def remove_scratch(ports: Ports, at: CallKey, start: str | None) -> None:
    """Remove the scratch files of a pass. Files that the job began with (`start` is the digest of
    its workspace) or that are in its repository stay. Journaled."""
    workspace = ports.workspace
    present = filter(is_scratch, {*workspace.list(), *workspace.links()})
    first_files = await workspace.manifest(start)
    candidates = [path for path in sorted(present) if path not in first_files]
    removed = frozenset([path for path in candidates if await workspace.original(path) is None])
    if not removed:
        return

    async def remove() -> tuple[ToolMessage, Finished]:
        await workspace.apply({}, removed)
        message = ToolMessage("", tool_call_id="scratch")
        return message, finished_call(message, workspace=workspace.digest)

    await journaled(ports, at.key(digest("scratch", sorted(removed))), remove)
