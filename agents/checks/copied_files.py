"""The files of a workspace that are copied for checks: no file of the job may configure the checks.
Pure.

A job without a repository has no files that configure its checks: the copy omits them. In a
repository, the commit's own versions of these files configure the checks, as in a clone.

See ADR 88.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from agents.errors import ToolRefused
from agents.layout.importable import table
from agents.links import follow
from agents.paths import is_in_setup
from agents.tree import Tree

SETTINGS = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
"""Files that are pytest's settings in any directory. The checks may bring one."""
SHARED_SETTINGS = ("pyproject.toml", "setup.cfg", "tox.ini")
"""Files of a project that may have a section for pytest."""
_AT_START = ("sitecustomize", "usercustomize", "conftest")
"""Modules that an interpreter or pytest imports at its start."""
_CHECKERS = frozenset({"pytest", "_pytest", "fettle_report"})
"""Modules that run and report the checks. The job's own module of such a name would replace it."""
_MOST_BYTES, _MOST_DOTS = 64 * 1024, 50
"""The size of a file that is parsed, and the dots of one line: tomllib is quadratic in them."""

Entry = TypeVar("Entry", bytes, str)
"""The bytes of a file, or the target of a symbolic link."""


def tree_under_test(tree: Tree, checks: Collection[str], settings: Collection[str] = ()) -> Tree:
    """The part of a workspace that is copied for checks with the paths `checks`.

    These files of the job are omitted: a file with the path of a check or of its directory; a
    package with the name of a check; each conftest, pytest setting, start-up module, path file,
    entry point and compiled file; a module with the name of pytest; and `settings`. The files of a
    repository's commit stay, in the commit's version, except packages with the name of a check.
    """
    packages = {f"{path.removesuffix('.py')}/__init__.py" for path in checks}
    omitted = packages.union(settings)
    if not tree.layers:
        omitted |= {path for path in (*tree.files, *tree.links) if is_checker(path)}
    files = _copied(tree.files, checks, omitted)
    as_directories = {f"{path}/__init__.py": target for path, target in tree.links.items()}
    directories = _copied(as_directories, checks, omitted)
    links = {
        path: target
        for path, target in _copied(tree.links, checks, omitted).items()
        if f"{path}/__init__.py" in directories
    }
    removed = frozenset(
        path for path in tree.removed if path not in settings and not configures(path)
    )
    return replace(
        tree, files=files, links=links, removed=removed | packages if tree.layers else removed
    )


def with_texts(tree: Tree, texts: Mapping[str, str]) -> Tree:
    """The tree with files of checks in place of all entries in their way."""
    files = {path: text.encode() for path, text in texts.items()}
    return replace(
        tree,
        files={**without_clashes(tree.files, files), **files},
        links=without_clashes(tree.links, files),
    )


def without_clashes(files: Mapping[str, Entry], paths: Collection[str]) -> dict[str, Entry]:
    """The `files` that can exist in one directory together with files at `paths`."""
    reserved = set(paths)
    above = {parent for path in paths for parent in _parents(path)}
    return {
        path: content
        for path, content in files.items()
        if path not in reserved | above and reserved.isdisjoint(_parents(path))
    }


def placed(path: str, links: Mapping[str, str]) -> str:
    """The path of a check's file after the `links` of the commit are followed."""
    with suppress(ToolRefused):
        return follow(path, links)
    return path


def configures(path: str) -> bool:
    """Whether a file with this path configures the interpreter or pytest, also if a part of the
    path is a link or a directory of that name."""
    parts = path.split("/")
    suffix = parts[-1].partition(".")[2]
    return (
        suffix in {"pyc", "pth"}
        or is_in_setup(path)
        or any(part in SETTINGS or part == "__pycache__" for part in parts)
        or any(part.partition(".")[0] in _AT_START for part in parts)
        or any(part.endswith((".dist-info", ".egg-info")) for part in parts[:-1])
    )


def is_checker(path: str) -> bool:
    """Whether a file with this path can be imported in place of pytest or of its report."""
    return not _CHECKERS.isdisjoint(part.partition(".")[0] for part in path.split("/"))


def pytest_settings(path: str, content: bytes | None) -> object:
    """The part of a shared settings file that pytest reads, for a comparison of two versions. A
    file that cannot be parsed is compared as a text."""
    text = (content or b"").decode("utf-8-sig", errors="replace")
    lines = text.splitlines()
    if not path.endswith(".toml"):
        return _pytest_sections(lines)
    if len(text) > _MOST_BYTES or any(line.count(".") > _MOST_DOTS for line in lines):
        return text
    try:
        return table(tomllib.loads(text), "tool", "pytest")
    except (ValueError, RecursionError):
        return text


def _pytest_sections(lines: Collection[str]) -> list[str]:
    """The lines of the sections for pytest. pytest's parser takes a line as the head of a section
    if it begins with a bracket."""
    sections, is_pytest = [], False
    for line in lines:
        if line.startswith("["):
            is_pytest = "pytest" in line
        if is_pytest and line.strip():
            sections.append(line.rstrip())
    return sections


def _copied(
    entries: Mapping[str, Entry], checks: Collection[str], omitted: Collection[str]
) -> dict[str, Entry]:
    return {
        path: entry
        for path, entry in without_clashes(entries, checks).items()
        if path not in omitted and not configures(path)
    }


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]
