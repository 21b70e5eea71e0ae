"""Paths in the workspace, as the tools take them. Pure."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping

from agents.errors import PathOutside
from agents.ports import Workspace
from agents.texts import SHAPELESS
from sandbox import paths as sandbox_paths
from sandbox.protocol import Limits

LONGEST_PATH = 240
GIT = ".git"
SETUP = ".setup"
"""The directory of the dependencies that a repository's setup has installed (ADR 56)."""
SCRATCH = ".scratch"
"""The directory of files that do not belong to a job's result, see `agents.runs.kept_files`."""
_ESCAPED = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
ROOT = "/work"
"""The workspace's directory in a sandbox. Code sees its files there, so models use it."""


def normalize_path(path: str) -> str:
    """`path` in its normal form: relative, with `/` between the parts. Raises PathOutside."""
    if not path or len(path.encode(errors="replace")) > LONGEST_PATH:
        raise PathOutside(f"a path has 1 to {LONGEST_PATH} bytes: {path[:80]!r}")
    if path.startswith("/") or "\\" in path:
        raise PathOutside(f"a path is relative to the workspace, with '/': {path!r}")
    parts = [part for part in path.split("/") if part != "."]
    if not parts or any(part in {"", ".."} for part in parts):
        raise PathOutside(f"a path has no empty parts and no '..': {path!r}")
    if fault := sandbox_paths.fault("/".join(parts)):
        raise PathOutside(f"{fault}: {path!r}")
    return "/".join(parts)


def in_workspace(path: str) -> str:
    """`path` without the sandbox's directory, and with the characters that `visible` has escaped.
    The rest is not checked."""
    return _ESCAPED.sub(_hidden, path.strip(" \t\r\n")).removeprefix(f"{ROOT}/")


def visible(path: str) -> str:
    """A path as a model reads it, and can send it back: characters that are not seen, such as a
    narrow no-break space, are escaped as in Python. A path has no other backslashes."""
    return "".join(sign if _is_seen(sign) else _escaped(ord(sign)) for sign in path)


def _is_seen(character: str) -> bool:
    return character.isprintable() and not SHAPELESS.match(character)


def _escaped(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _hidden(match: re.Match[str]) -> str:
    code = int(match[1][1:], 16)
    return match[0] if code > sys.maxunicode or _is_seen(chr(code)) else chr(code)


def objection(files: Mapping[str, int], new: Mapping[str, int], limits: Limits) -> str | None:
    """Why a workspace of `files` cannot take `new` ones (by path with sizes in bytes), or None.

    Without this check the next run would fail, as if the sandbox had.
    """
    if any(map(is_in_setup, new)):
        return f"files in {SETUP}/ are installed dependencies, which nothing else changes"
    return exceeded_limit(files, new, limits)


def is_in_setup(path: str) -> bool:
    """Whether the path is the setup's directory, or is in it."""
    return path.partition("/")[0] == SETUP


def is_scratch(path: str) -> bool:
    """Whether the path is in the scratch directory."""
    return path.startswith(f"{SCRATCH}/")


def own_files(workspace: Workspace) -> dict[str, int]:
    """The files that the job has made or changed, sizes by path. Without a repository these are all
    its files. The paths are sorted, because prompts list them and must be equal in each
    process."""
    sizes = workspace.list()
    return {path: sizes[path] for path in sorted(workspace.changed()) if path in sizes}


def write_objection(
    workspace: Workspace, new: Mapping[str, int], limits: Limits, *, has_repository: bool
) -> str | None:
    """The reason if the job's workspace cannot take the `new` files (sizes by path), or None. Only
    files that the job made count against its limits; files of a repository can be in the way."""
    reason = objection(own_files(workspace), new, limits)
    if reason is None and has_repository and any(map(sandbox_paths.is_git_internal, new)):
        reason = f"files in {GIT} belong to git, and no change of them is kept"
    return reason or _in_the_way(workspace, new)


def _in_the_way(workspace: Workspace, new: Iterable[str]) -> str | None:
    submodules, pointers = workspace.submodules(), workspace.lfs_pointers()
    entries = {*workspace.list(), *workspace.links(), *submodules}
    for path in new:
        parts = path.split("/")
        above = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
        if submodule := next((name for name in (*above, path) if name in submodules), None):
            return (
                f"{submodule!r} is a submodule: its files belong to another repository, and no "
                "change of them can be kept"
            )
        if path in pointers:
            return f"{path!r} is a pointer of Git LFS, which has its content: no change can be kept"
        if entry := next((name for name in above if name in entries), None):
            return f"a file and a directory at once: {entry!r}"
        if any(entry.startswith(f"{path}/") for entry in entries):
            return f"a file and a directory at once: {path!r}"
    return None


def exceeded_limit(files: Mapping[str, int], new: Mapping[str, int], limits: Limits) -> str | None:
    """Why a workspace of `files` cannot take `new` ones; None if it can. It does not check whether
    a path is reserved."""
    after = {**files, **new}
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
    names, or else of one level. The name of a directory at the lowest level has the number of its
    files.
    """
    prefix = _prefix(path)
    below = [file.removeprefix(prefix).split("/") for file in files if file.startswith(prefix)]
    if prefix and not below:
        return None
    file_counts: dict[str, int] = {}
    for level in range(1, depth + 1):
        counts = Counter("/".join(parts[:level]) + "/" * (len(parts) > level) for parts in below)
        if level > 1 and len(file_counts) + len(counts) > most:
            break
        file_counts = {**dict.fromkeys(file_counts, 0), **counts}  # higher levels are listed now
        below = [parts for parts in below if len(parts) > level]
        if not below:
            break
    return [
        f"{name} ({count} files)" if count and name.endswith("/") else name
        for name, count in sorted(file_counts.items())
    ]


def listing(files: Mapping[str, int], path: str, depth: int = 1) -> list[str] | None:
    """Names in the directory `path` (`.` is the workspace) and `depth` levels down; directories end
    with `/`. None if there is no such directory."""
    prefix = _prefix(path)
    below = [name.removeprefix(prefix) for name in files if name.startswith(prefix)]
    if prefix and not below:
        return None
    names: set[str] = set()
    for name in below:
        parts = name.split("/")
        names.update(
            "/".join(parts[:level]) + "/" for level in range(1, min(depth, len(parts) - 1) + 1)
        )
        if len(parts) <= depth:
            names.add(name)
    return sorted(names)


def _prefix(path: str) -> str:
    """What the paths in the directory `path` begin with."""
    bare = in_workspace(path).rstrip("/")
    return "" if bare in {"", ".", ROOT} else normalize_path(bare) + "/"
