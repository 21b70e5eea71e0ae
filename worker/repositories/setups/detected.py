"""The command that installs the dependencies of a project, by the project's files. Pure.

This module executes no file of the project. If the command is wrong, the job fails with the
command's output, and a person names another command. The files may have any content: reading them
takes linear time, and their size is bounded.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from packaging.requirements import Requirement

REQUIREMENTS = re.compile(
    r"(requirements([-_.](dev|development|tests?|testing))?|(dev|tests?)[-_.]requirements"
    r"|requirements/(dev|development|tests?|testing))\.txt"
)
"""Lists of the packages that tests need; a project may have other lists, for docs or production."""
LOCKS: Final = ("package-lock.json", "npm-shrinkwrap.json")
GROUPS: Final = ("test", "tests", "testing", "dev")
"""Names of extras and of dependency groups for developers of a project."""
PROJECTS: Final = ("pyproject.toml", "setup.cfg")
PROJECT_BYTES = 64 * 1024
"""Larger project files are not read."""
LISTS_BYTES, MOST_LISTS = 128 * 1024, 50
"""Limits of all lists of requirements together."""
MOST_DOTS = 50
"""The most dots in a line of TOML: tomllib needs quadratic time for a dotted key."""
_INCLUDES = ("--requirement", "--constraint", "-r", "-c")


@dataclass(frozen=True, slots=True)
class Setup:
    """How to install the dependencies of a project."""

    command: str
    """A command for `sh` in the project's directory."""
    paths: tuple[str, ...] = ()
    """The files that the command sees; empty: all files of the project."""


def setup_files(sizes: Mapping[str, int]) -> tuple[str, ...]:
    """The paths of the project that `detect_setup` reads. `sizes`: bytes by path."""
    paths = [name for name in PROJECTS if sizes.get(name, PROJECT_BYTES + 1) <= PROJECT_BYTES]
    remaining = LISTS_BYTES
    for path in sorted(filter(_is_list, sizes))[:MOST_LISTS]:
        if sizes[path] <= remaining:
            paths.append(path)
            remaining -= sizes[path]
    return tuple(paths)


def _is_list(path: str) -> bool:
    """Whether the path looks like a list of requirements or of constraints."""
    folder, _, name = path.rpartition("/")
    has_list_name = "requirements" in path or "constraints" in name
    return has_list_name and name.endswith(".txt") and "/" not in folder


def detect_setup(
    paths: Collection[str], texts: Mapping[str, str], programs: Collection[str]
) -> Setup | None:
    """The setup of a project; None if its files suggest no command. `paths` are all files, `texts`
    the texts of `setup_files`, `programs` the programs of the sandbox besides Python and pip."""
    lists = sorted(path for path in paths if REQUIREMENTS.fullmatch(path))
    project = _project(paths, texts, alone=not lists)
    commands = []
    if lists or project:
        options = [f"-r {path}" for path in lists]
        commands.append(" ".join(("pip install", *options, *project)))
    if "npm" in programs and "package.json" in paths and not {*LOCKS}.isdisjoint(paths):
        commands.append("npm ci")
    if not commands:
        return None
    has_only_lists = not project and len(commands) == 1 and bool(lists)
    needed_paths = _all_lists(lists, paths, texts) if has_only_lists else None
    return Setup(" && ".join(commands), needed_paths or ())


def _project(paths: Collection[str], texts: Mapping[str, str], *, alone: bool) -> list[str]:
    """pip's arguments that install the project itself; empty if it cannot be installed. A project
    with lists of requirements (not `alone`) needs a build system: a name without a build system
    makes no package."""
    content = _toml(texts.get("pyproject.toml", ""))
    project, system = _table(content, "project"), _table(content, "build-system")
    if not ("setup.py" in paths or system or (project and alone)):
        return []
    extras = {*_table(project, "optional-dependencies"), *_extras(texts.get("setup.cfg", ""))}
    names = [name for name in GROUPS if name in extras]
    groups = [f"--group {name}" for name in GROUPS if name in _table(content, "dependency-groups")]
    return [f"-e '.[{','.join(names)}]'" if names else "-e .", *groups]


def _all_lists(
    lists: Collection[str], paths: Collection[str], texts: Mapping[str, str]
) -> tuple[str, ...] | None:
    """The lists, and the lists that they include. None if one of them was not read, or if a line
    needs more than the package index."""
    all_lists = list(lists)
    for path in all_lists:  # the loop appends to it
        if path not in texts:
            return None
        for line in _lines(texts[path]):
            option = next((name for name in _INCLUDES if line.startswith(name)), None)
            if option is None:
                if not _is_from_index(line, paths):
                    return None
            elif (included := _joined(path, line.removeprefix(option))) not in all_lists:
                if included not in texts:
                    return None
                all_lists.append(included)
    return tuple(sorted(all_lists))


def _joined(path: str, value: str) -> str:
    """The path of a list that the list `path` includes as the value of an option."""
    return str(PurePosixPath(path).parent / value.lstrip(" =\t"))


def _lines(text: str) -> Iterator[str]:
    """The lines of a list of requirements, joined at backslashes and without comments."""
    for line in text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        if bare := re.sub(r"(^|\s)#.*$", "", line).strip():
            yield bare


def _is_from_index(line: str, paths: Collection[str]) -> bool:
    """Whether the line is a plain requirement, with hashes, and names no file of the project."""
    words = (word for word in line.split() if not word.startswith("--hash="))
    try:
        requirement = Requirement(" ".join(words))
    except (ValueError, RecursionError):
        return False
    return requirement.url is None and requirement.name not in paths


def _toml(text: str) -> Mapping[str, Any]:
    if any(line.count(".") > MOST_DOTS for line in text.split("\n")):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _table(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = content.get(name)
    return table if isinstance(table, dict) else {}


def _extras(text: str) -> Collection[str]:
    """The extras of a setup.cfg. `configparser` needs quadratic time for the spaces of a line."""
    section, names = "", set()
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip()
        elif section == "[options.extras_require]":  # their values begin with a space
            names.add(line.replace(":", "=").partition("=")[0].rstrip())
    return names
