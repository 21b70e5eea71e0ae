"""The files of a workspace that are copied for checks: no file may configure the checks. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeVar

SETTINGS = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
"""Files that are pytest's settings in any directory. The checks may bring one."""
_AT_START = ("sitecustomize", "usercustomize")
"""Modules that an interpreter imports at its start."""


Entry = TypeVar("Entry", bytes, str)
"""The bytes of a file, or the target of a symbolic link."""


def files_under_test(files: Mapping[str, Entry], checks: Collection[str]) -> dict[str, Entry]:
    """The `files` of a workspace that are copied for checks with the paths `checks`.

    These files are omitted: a file with the path of a check or of its directory; a package with the
    name of a check; each conftest, pytest setting, start-up module, path file,
    entry point and compiled file. (pyproject.toml and similar files are copied, because pytest runs
    with options that ignore them.)
    """
    packages = {f"{path.removesuffix('.py')}/__init__.py" for path in checks}
    return {
        path: content
        for path, content in without_clashes(files, checks).items()
        if path not in packages and not _configures(path.split("/"))
    }


def links_under_test(links: Mapping[str, str], checks: Collection[str]) -> dict[str, str]:
    """The symbolic links of a workspace that are copied: targets by path. A link may lead to a file
    or to a directory, so it is omitted if a file or a package of its name would be omitted."""
    directories = {f"{path}/__init__.py": target for path, target in links.items()}
    packages = files_under_test(directories, checks)
    files = files_under_test(links, checks)
    return {path: files[path] for path in files if f"{path}/__init__.py" in packages}


def without_clashes(files: Mapping[str, Entry], paths: Collection[str]) -> dict[str, Entry]:
    """The `files` that can exist in one directory together with files at `paths`."""
    reserved = set(paths)
    above = {parent for path in paths for parent in _parents(path)}
    return {
        path: content
        for path, content in files.items()
        if path not in reserved | above and reserved.isdisjoint(_parents(path))
    }


def _configures(parts: list[str]) -> bool:
    stem, _, suffix = parts[-1].partition(".")
    return (
        parts[-1] in {"conftest.py", *SETTINGS}
        or "__pycache__" in parts
        or suffix in {"pyc", "pth"}
        or stem in _AT_START
        or not {*_AT_START, "conftest"}.isdisjoint(parts[:-1])
        or any(part.endswith((".dist-info", ".egg-info")) for part in parts[:-1])
    )


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]
