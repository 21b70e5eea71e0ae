"""Importable, the result of a rule, and Project, its input. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True, slots=True)
class Importable:
    """`directories` are added to the module path; `modules` map names to paths. A path is relative
    to the project's directory; the path of the project's directory itself is empty. The path of a
    module is the path of a package's directory, or of a file without its `.py`."""

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
        names = set(self.paths)
        for path in self.paths:
            while (path := posixpath.dirname(path)) and path not in names:
                names.add(path)
        return frozenset(names)

    @cached_property
    def name(self) -> str:
        """The project's name in the form of a module's name; empty if the project has no name."""
        poetry = table(self.pyproject, "tool", "poetry")
        name = table(self.pyproject, "project").get("name") or poetry.get("name") or ""
        return re.sub(r"[-.]+", "_", str(name))

    def has_module(self, path: str) -> bool:
        """Whether `path` is the path of a package, or the path of a module without its `.py`."""
        return f"{path}.py" in self.names or any(
            f"{path}/__init__{suffix}" in self.names for suffix in (".py", ".pyi")
        )

    def has_directory(self, path: str) -> bool:
        """Whether there is a directory with files in it."""
        return path in self.names and path not in self.paths

    def top(self, directory: str) -> list[str]:
        """The names of the directories and Python files in a directory, without `.py`, sorted; a
        directory's ends with a slash."""
        prefix = f"{directory}/" if directory else ""
        names = set()
        for path in self.paths:
            if path.startswith(prefix):
                first, slash, _ = path.removeprefix(prefix).partition("/")
                if slash:
                    names.add(f"{first}/")
                elif first.endswith(".py"):
                    names.add(first.removesuffix(".py"))
        return sorted(names)

    def beside(self, module: str) -> tuple[str, ...]:
        """The directory of a module: `src`, or the project's own. Empty if the module is in neither
        directory."""
        path = module.replace(".", "/")
        return tuple(top for top in ("src", "") if self.has_module(joined(top, path)))[:1]


def table(content: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """A table of a TOML file; empty if it is missing, or no table."""
    for name in names:
        value = content.get(name)
        content = value if isinstance(value, dict) else {}
    return content


def texts_of(value: object) -> list[str]:
    """The texts of a list; empty for anything else."""
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def joined(*parts: str) -> str:
    """A path in the project, in its normal form; empty for the project's directory."""
    path = posixpath.normpath("/".join(part for part in parts if part) or ".")
    return "" if path == "." else path


def inside(path: str) -> bool:
    """Whether a path stays in the project."""
    return not path.startswith(("/", "../")) and path != ".." and "\n" not in path
