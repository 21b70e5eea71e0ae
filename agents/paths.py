"""Paths in the workspace, as the tools take them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from agents.errors import PathOutside
from agents.runs.installed import FOLDER, belongs_to_install
from sandbox import paths as sandbox_paths
from sandbox.protocol import Limits

LONGEST_PATH = 240
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
        return f"only install puts files into {FOLDER}/"
    return exceeded_limit(files, new, limits)


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


def listing(files: Mapping[str, int], path: str, depth: int = 1) -> list[str] | None:
    """Names in the directory `path` (`.` is the workspace) and `depth` levels down; directories end
    with `/`. None if there is no such directory."""
    bare = in_workspace(path).rstrip("/")
    prefix = "" if bare in {"", ".", SANDBOX_PREFIX.rstrip("/")} else checked(bare) + "/"
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
