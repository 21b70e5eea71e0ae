"""Symbolic links of a workspace, followed as the kernel follows them in a run. Pure.

Tools work on the manifest, and see the files that runs see: a path may lead through links. A link
that leaves the working directory leads into the sandbox, which has no files of the job.

Why: docs/decisions/0068-links-are-texts.md
"""

from __future__ import annotations

from collections.abc import Mapping

from agents.errors import ToolRefused
from agents.paths import ROOT, checked, in_workspace
from agents.ports import Workspace

MOST_FOLLOWED = 40
"""Of one path, as Linux has it."""


def located(workspace: Workspace, path: str) -> str:
    """The path, in its normal form, that a tool's `path` leads to; nothing may be there. Raises
    ToolRefused, and PathOutside for an invalid path."""
    return follow(checked(in_workspace(path)), workspace.links())


def place_to_write(workspace: Workspace, path: str) -> str:
    """The same for a file to be written. Raises ToolRefused where a link leads to nothing."""
    name, links = checked(in_workspace(path)), workspace.links()
    at = follow(name, links)
    if at != name and not _is_place(workspace, name, at):
        raise ToolRefused(
            f"{_by_link(name, links)} leads to {at!r}, which is not there: write that file by its "
            "own path, or remove the link in a run"
        )
    return at


def why_missing(workspace: Workspace, path: str) -> str:
    """Why there is no file at a tool's `path`."""
    name, links = checked(in_workspace(path)), workspace.links()
    at = follow(name, links)
    if submodule := below_submodule(workspace, at):
        return (
            f"there is no file {name!r}: {submodule!r} is a submodule, another repository, whose "
            "files are not here"
        )
    if at != name:
        return f"there is no file {name!r}: {_by_link(name, links)} leads to {at!r}"
    return f"there is no file {name!r}; list_dir shows the files"


def below_submodule(workspace: Workspace, path: str) -> str | None:
    """The submodule that a path names or lies in; None for other paths."""
    submodules = workspace.submodules()
    parts = path.split("/")
    above = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    return next((each for each in above if each in submodules), None)


def follow(path: str, links: Mapping[str, str]) -> str:
    """Where a path in its normal form leads to by the `links` (targets by path); '' is the working
    directory. Raises ToolRefused where it leaves that, or goes round in circles."""
    if not links:
        return path
    left, at, followed = path.split("/")[::-1], list[str](), 0
    while left:
        part = left.pop()
        if part == ".." and not at:
            raise ToolRefused(f"{_by_link(path, links)} leads out of the working directory")
        if part == "..":
            at.pop()
            continue
        if part in {"", "."}:
            continue
        at.append(part)
        target = links.get("/".join(at))
        if target is None:
            continue
        followed += 1
        if followed > MOST_FOLLOWED:
            raise ToolRefused(f"{_by_link(path, links)} leads in a circle")
        at = [] if target.startswith("/") else at[:-1]
        if target.startswith("/") and f"{target}/".startswith(f"{ROOT}/"):
            target = target.removeprefix(ROOT)
        elif target.startswith("/"):
            raise ToolRefused(f"{_by_link(path, links)} leads out of the working directory")
        left += target.split("/")[::-1]
    return "/".join(at)


def _by_link(path: str, links: Mapping[str, str]) -> str:
    """The first link on the way of a path, which has one, with its target."""
    parts = path.split("/")
    above = ("/".join(parts[:end]) for end in range(1, len(parts) + 1))
    link = next(each for each in above if each in links)
    return f"the symbolic link {link!r} -> {links[link]!r}"


def _is_place(workspace: Workspace, name: str, at: str) -> bool:
    """Whether a file at `at`, which `name` leads to, is there; or its directory, where the link is
    above the file's own name."""
    files = workspace.list()
    if at in files:
        return True
    folder = at.rpartition("/")[0]
    if name in workspace.links():
        return False
    return not folder or any(each.startswith(f"{folder}/") for each in files)
