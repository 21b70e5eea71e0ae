"""Symbolic links of a workspace, followed as the kernel follows them in a run. Pure.

Tools work on the manifest and see the files that runs see: a path may lead through links. A link
that leaves the working directory leads into the sandbox, which has no files of the job.

See ADR 68.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from agents.errors import ToolRefused
from agents.paths import ROOT, in_workspace, normalize_path
from agents.ports import Workspace
from sandbox.paths import is_git_internal

MOST_LINKS = 40
"""The number of links on the way of one path that Linux follows."""


def locate(workspace: Workspace, path: str) -> str:
    """The path, in its normal form, that a tool's `path` leads to; the file need not exist. Raises
    ToolRefused, and PathOutside for an invalid path."""
    return follow(normalize_path(in_workspace(path)), workspace.links())


def locate_to_write(workspace: Workspace, path: str) -> str:
    """The path of the file that a tool writes to by `path`. Raises ToolRefused if a link leads to a
    file or a directory that does not exist."""
    name, links = normalize_path(in_workspace(path)), workspace.links()
    target = follow(name, links)
    if target != name and not _exists(workspace, name, target):
        raise ToolRefused(
            f"{_first_link(name, links)} leads to {target!r}, which does not exist: write that "
            "file by its own path, or remove the link in a run"
        )
    return target


def explain_missing(workspace: Workspace, path: str) -> str:
    """The reason why a tool's `path` names no file."""
    name, links = normalize_path(in_workspace(path)), workspace.links()
    target = follow(name, links)
    if submodule := missing_submodule_of(workspace, target):
        return (
            f"there is no file {name!r}: {submodule!r} is a submodule, another repository, whose "
            "files are not here"
        )
    if target != name:
        return f"there is no file {name!r}: {_first_link(name, links)} leads to {target!r}"
    return f"there is no file {name!r}; list_dir shows the files"


def submodule_of(workspace: Workspace, path: str) -> str | None:
    """The submodule that contains the path, or has it; None for other paths."""
    submodules = workspace.submodules()
    return next((prefix for prefix in prefixes(path) if prefix in submodules), None)


def missing_submodule_of(workspace: Workspace, path: str) -> str | None:
    """The submodule of the path, as `submodule_of` has it, if it is not checked out."""
    submodule = submodule_of(workspace, path)
    files = workspace.submodule_files() if submodule else {}
    return None if any(file.startswith(f"{submodule}/") for file in files) else submodule


def missing_submodules(workspace: Workspace) -> frozenset[str]:
    """The submodules that are not checked out."""
    with_files = {name for file in workspace.submodule_files() for name in prefixes(file)}
    return frozenset(workspace.submodules()).difference(with_files)


def follow(path: str, links: Mapping[str, str]) -> str:
    """The path that `path`, in its normal form, leads to by the `links` (targets by path); '' is
    the working directory. Raises ToolRefused if a link leads out of it, or in a circle."""
    if not links:
        return path
    *_, end = _follow_steps(path, links, ROOT)
    return end


def leaves_repository(link: str, links: Mapping[str, str], submodules: Collection[str]) -> bool:
    """Whether `link`, one of the symbolic `links` of a repository, is absolute, or leads out of the
    repository, into `.git`, into a submodule, or in a circle. The target need not exist."""
    try:
        return any(
            is_git_internal(path) or path in submodules for path in _follow_steps(link, links)
        )
    except ToolRefused:
        return True


def prefixes(path: str) -> Iterator[str]:
    """The directories on the way of a path, from the top, and the path."""
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts) + 1))


def _follow_steps(path: str, links: Mapping[str, str], root: str | None = None) -> Iterator[str]:
    """The paths on the way of `path`, as the kernel follows it: directories, links, and the end.
    An absolute target has to begin with `root`. Raises ToolRefused as `follow` does."""
    waiting, parts, followed = path.split("/")[::-1], list[str](), 0
    while waiting:
        part = waiting.pop()
        if part == ".." and not parts:
            raise ToolRefused(f"{_first_link(path, links)} leads out of the working directory")
        if part == "..":
            parts.pop()
            continue
        if part in {"", "."}:
            continue
        parts.append(part)
        yield (entered := "/".join(parts))
        target = links.get(entered)
        if target is None:
            continue
        followed += 1
        if followed > MOST_LINKS:
            raise ToolRefused(f"{_first_link(path, links)} leads in a circle")
        parts = [] if target.startswith("/") else parts[:-1]
        if root is not None and f"{target}/".startswith(f"{root}/"):
            target = target.removeprefix(root)
        elif target.startswith("/"):
            raise ToolRefused(f"{_first_link(path, links)} leads out of the working directory")
        waiting += target.split("/")[::-1]
    yield "/".join(parts)


def _first_link(path: str, links: Mapping[str, str]) -> str:
    """The first link on the way of a path that has a link, with its target."""
    link = next(prefix for prefix in prefixes(path) if prefix in links)
    return f"the symbolic link {link!r} -> {links[link]!r}"


def _exists(workspace: Workspace, name: str, target: str) -> bool:
    """Whether the file `target` exists, which `name` leads to. If only a directory of `name` is a
    link, the directory of `target` is enough."""
    files, folder = workspace.list(), target.rpartition("/")[0]
    if target in files:
        return True
    if name in workspace.links():
        return False
    return not folder or any(path.startswith(f"{folder}/") for path in files)
