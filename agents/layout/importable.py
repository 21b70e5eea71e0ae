"""Importable: what is on the module path; and Project: what the rules read. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True, slots=True)
class Importable:
    """`directories` are added to the module path; `modules` can be imported by name. Their places
    are relative to the project's directory, which is an empty text; a module's is a package's
    directory, or a file without its `.py`."""

    directories: tuple[str, ...] = ()
    modules: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Project:
    """All files of a project by path, its parsed pyproject.toml, and the texts of its metadata."""

    paths: Collection[str]
    pyproject: Mapping[str, Any]
    texts: Mapping[str, str]

    @cached_property
    def names(self) -> frozenset[str]:
        """All paths of files and of directories."""
        found = set(self.paths)
        for path in self.paths:
            while (path := posixpath.dirname(path)) and path not in found:
                found.add(path)
        return frozenset(found)

    @cached_property
    def name(self) -> str:
        """The project's name as a module's; empty without one."""
        poetry = table(self.pyproject, "tool", "poetry")
        name = table(self.pyproject, "project").get("name") or poetry.get("name") or ""
        return re.sub(r"[-.]+", "_", str(name))

    def has_module(self, place: str) -> bool:
        """Whether a package or a module lies at `place`, without a module's `.py`."""
        return f"{place}.py" in self.names or any(
            f"{place}/__init__{end}" in self.names for end in (".py", ".pyi")
        )

    def has_directory(self, place: str) -> bool:
        """Whether there is a directory with files in it."""
        return place in self.names and place not in self.paths

    def top(self, place: str) -> list[str]:
        """The names of the directories and Python files in a directory, without `.py`, sorted; a
        directory's ends with a slash."""
        prefix = f"{place}/" if place else ""
        found = set()
        for path in self.paths:
            if path.startswith(prefix):
                first, slash, _ = path.removeprefix(prefix).partition("/")
                if slash:
                    found.add(f"{first}/")
                elif first.endswith(".py"):
                    found.add(first.removesuffix(".py"))
        return sorted(found)

    def beside(self, module: str) -> tuple[str, ...]:
        """The directory that has a module: `src`, or the project's own. Empty if neither has."""
        place = module.replace(".", "/")
        return tuple(each for each in ("src", "") if self.has_module(joined(each, place)))[:1]


def table(content: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """A table of a TOML file; empty if it is missing, or no table."""
    for name in names:
        found = content.get(name)
        content = found if isinstance(found, dict) else {}
    return content


def texts_of(value: object) -> list[str]:
    """The texts of a list; empty for anything else."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def joined(*parts: str) -> str:
    """A path in the project, in its normal form; empty for the project's directory."""
    whole = posixpath.normpath("/".join(part for part in parts if part) or ".")
    return "" if whole == "." else whole


def inside(place: str) -> bool:
    """Whether a path leads to a place in the project."""
    return not place.startswith(("/", "../")) and place != ".." and "\n" not in place
