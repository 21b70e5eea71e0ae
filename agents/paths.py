"""Paths in the workspace, as the tools take them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from agents.errors import PathOutside
from agents.ports import Ports, Workspace
from agents.runs.installed import FOLDER, SETUP, belongs_to_install
from sandbox import paths as sandbox_paths
from sandbox.protocol import Limits

LONGEST_PATH = 240
GIT = ".git"
SANDBOX_PREFIX = "/work/"
"""The workspace's directory in a sandbox. Code sees its files there, so models use it."""


def checked(path: str) -> str:
    """`path` in its normal form: relative, with `/` between the parts. Raises PathOutside."""
    if not path or len(path.encode(errors="replace")) > LONGEST_PATH:
        raise PathOutside(f"a path has 1 to {LONGEST_PATH} bytes: {path[:80]!r}")
    if path.startswith("/") or "\\" in path:
        raise PathOutside(f"a path is relative to the workspace, with '/': {path!r}")
    if not path.isprintable():
        raise PathOutside(f"a path has printable characters only: {path!r}")
    parts = [part for part in path.split("/") if part != "."]
    if not parts or any(part in {"", ".."} for part in parts):
        raise PathOutside(f"a path has no empty parts and no '..': {path!r}")
    return "/".join(parts)


def in_workspace(path: str) -> str:
    """`path` without the sandbox's directory. The rest is not checked."""
    return path.strip().removeprefix(SANDBOX_PREFIX)


def objection(files: Mapping[str, int], new: Mapping[str, int], limits: Limits) -> str | None:
    """Why a workspace of `files` cannot take `new` ones (by path with sizes in bytes), or None.

    Without this check the next run would fail, as if the sandbox had.
    """
    if any(map(belongs_to_install, new)):
        return f"files in {FOLDER}/ and {SETUP}/ are installed, and not written"
    return exceeded_limit(files, new, limits)


def own_files(workspace: Workspace) -> dict[str, int]:
    """The files that the job has made or changed, sizes by path. Without a repository these are all
    its files. Sorted: prompts list them, and must be the same in each process."""
    sizes = workspace.list()
    return {path: sizes[path] for path in sorted(workspace.changed()) if path in sizes}


def why_not(ports: Ports, new: Mapping[str, int]) -> str | None:
    """Why the job's workspace cannot take `new` files, or None. Only the job's own files count
    against its limits; those of a repository can be in the way."""
    why = objection(own_files(ports.workspace), new, ports.limits)
    if why or ports.repository is None:
        return why
    return _in_the_way(ports.workspace.list(), new)


def _in_the_way(files: Mapping[str, int], new: Iterable[str]) -> str | None:
    for path in new:
        if GIT in path.lower().split("/"):
            return f"what lies in {GIT} belongs to git, and no change of it is kept"
        parts = path.split("/")
        above = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        if taken := next((each for each in above if each in files), None):
            return f"a file and a directory at once: {taken!r}"
        if any(each.startswith(f"{path}/") for each in files):
            return f"a file and a directory at once: {path!r}"
    return None


def exceeded_limit(
    files: Mapping[str, int],
    new: Mapping[str, int],
    limits: Limits,
    deleted: Collection[str] = (),
) -> str | None:
    """The same for any path, after the `deleted` files are gone."""
    after = {path: size for path, size in {**files, **new}.items() if path not in deleted}
    try:
        sandbox_paths.require(after)
    except ValueError as error:
        return str(error)
    if new and max(new.values()) > limits.file_bytes:
        return f"{max(new.values())} bytes; a file has at most {limits.file_bytes}"
    if len(after) > limits.workspace_files:
        return f"the workspace has at most {limits.workspace_files} files"
    if sum(after.values()) > limits.workspace_bytes:
        return f"the workspace has at most {limits.workspace_bytes} bytes"
    return None


def outline(files: Mapping[str, int], path: str, depth: int, most: int) -> list[str] | None:
    """The `listing` of a directory to the largest depth, up to `depth`, that has at most `most`
    names, or else of one level. A directory whose files are not in it is named with their number.
    """
    prefix = _prefix(path)
    below = [each.removeprefix(prefix).split("/") for each in files if each.startswith(prefix)]
    if prefix and not below:
        return None
    found: dict[str, int] = {}
    for level in range(1, depth + 1):
        counts = Counter("/".join(parts[:level]) + "/" * (len(parts) > level) for parts in below)
        if level > 1 and len(found) + len(counts) > most:
            break
        found = {**dict.fromkeys(found, 0), **counts}  # those above are looked into now
        below = [parts for parts in below if len(parts) > level]
        if not below:
            break
    return [
        f"{name} ({count} files)" if count and name.endswith("/") else name
        for name, count in sorted(found.items())
    ]


def listing(files: Mapping[str, int], path: str, depth: int = 1) -> list[str] | None:
    """Names in the directory `path` (`.` is the workspace) and `depth` levels down; directories end
    with `/`. None if there is no such directory."""
    prefix = _prefix(path)
    below = [name.removeprefix(prefix) for name in files if name.startswith(prefix)]
    if prefix and not below:
        return None
    found: set[str] = set()
    for name in below:
        parts = name.split("/")
        found.update(
            "/".join(parts[:level]) + "/" for level in range(1, min(depth, len(parts) - 1) + 1)
        )
        if len(parts) <= depth:
            found.add(name)
    return sorted(found)


def _prefix(path: str) -> str:
    """What the paths in the directory `path` begin with."""
    bare = in_workspace(path).rstrip("/")
    return "" if bare in {"", ".", SANDBOX_PREFIX.rstrip("/")} else checked(bare) + "/"
