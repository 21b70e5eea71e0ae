"""Which files of a workspace are copied for the checks: none that would configure them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

SETTINGS = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
"""Files that are pytest's own settings wherever they are; the checks may bring one."""
_AT_START = ("sitecustomize", "usercustomize")
"""What an interpreter imports by itself when it starts, if it is there."""


def files_under_test(files: Mapping[str, bytes], checks: Collection[str]) -> dict[str, bytes]:
    """Those of a workspace's `files` that count under checks with the paths `checks`.

    A file of the same path gives way, and so does one that is where a check's directory is to be,
    and a package of a check's name. No conftest, pytest settings, start-up module, path file, entry
    point or compiled leftover of the workspace counts. (pyproject.toml and the like stay: pytest is
    told not to read them.)
    """
    packages = {f"{path.removesuffix('.py')}/__init__.py" for path in checks}
    return {
        path: content
        for path, content in without_clashes(files, checks).items()
        if path not in packages and not _configures(path.split("/"))
    }


def without_clashes(files: Mapping[str, bytes], others: Collection[str]) -> dict[str, bytes]:
    """Those of `files` that can be in one directory with files of the paths `others`."""
    taken = set(others)
    above = {parent for path in others for parent in _parents(path)}
    return {
        path: content
        for path, content in files.items()
        if path not in taken | above and taken.isdisjoint(_parents(path))
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
