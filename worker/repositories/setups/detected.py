"""Which command installs what a project needs, by its own files. Pure.

Nothing of it is executed here. A wrong guess ends the job with the command's own output, and a
person names another one. The files are anybody's: what is read of them takes time that grows with
their size, and their size is bounded.
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
"""What tests need; a project may have other lists, of its documents' needs or of production's."""
LOCKS: Final = ("package-lock.json", "npm-shrinkwrap.json")
GROUPS: Final = ("test", "tests", "testing", "dev")
"""Extras, or dependency groups, of those who work on a project."""
PROJECTS: Final = ("pyproject.toml", "setup.cfg")
PROJECT_BYTES = 64 * 1024
"""The largest of these files that is read."""
LISTS_BYTES, MOST_LISTS = 128 * 1024, 50
"""All lists of requirements that are read, together."""
MOST_DOTS = 50
"""In a line of TOML: tomllib is quadratic in the parts of a dotted key."""
_OTHER = ("--requirement", "--constraint", "-r", "-c")


@dataclass(frozen=True, slots=True)
class Setup:
    """A command for `sh`, in the project's directory. It sees all of the project, or the files of
    `paths` alone."""

    command: str
    paths: tuple[str, ...] = ()


def wanted(sizes: Mapping[str, int]) -> tuple[str, ...]:
    """Which of the project's files `detected` reads. `sizes`: the bytes of each, by path."""
    found = [name for name in PROJECTS if sizes.get(name, PROJECT_BYTES + 1) <= PROJECT_BYTES]
    left = LISTS_BYTES
    for path in sorted(filter(_is_list, sizes))[:MOST_LISTS]:
        if sizes[path] <= left:
            found.append(path)
            left -= sizes[path]
    return tuple(found)


def _is_list(path: str) -> bool:
    """Whether it is a list of requirements, or what these usually name."""
    folder, _, name = path.rpartition("/")
    named = "requirements" in path or "constraints" in name
    return named and name.endswith(".txt") and "/" not in folder


def detected(
    paths: Collection[str], texts: Mapping[str, str], programs: Collection[str]
) -> Setup | None:
    """None where nothing says which. `paths` are all files of the project, `texts` those of
    `wanted`, `programs` what the sandbox has beside Python and pip."""
    lists = sorted(path for path in paths if REQUIREMENTS.fullmatch(path))
    project = _project(paths, texts, alone=not lists)
    commands = []
    if lists or project:
        named = [f"-r {path}" for path in lists]
        commands.append(" ".join(("pip install", *named, *project)))
    if "npm" in programs and "package.json" in paths and not {*LOCKS}.isdisjoint(paths):
        commands.append("npm ci")
    if not commands:
        return None
    alone = not project and len(commands) == 1 and bool(lists)
    return Setup(" && ".join(commands), (_with_others(lists, paths, texts) or ()) if alone else ())


def _project(paths: Collection[str], texts: Mapping[str, str], *, alone: bool) -> list[str]:
    """pip's words for the project itself; none where it cannot be installed. One that only says
    what it is named, beside a list of requirements, is no package."""
    content = _toml(texts.get("pyproject.toml", ""))
    project, system = _table(content, "project"), _table(content, "build-system")
    if not ("setup.py" in paths or system or (project and alone)):
        return []
    extras = {*_table(project, "optional-dependencies"), *_extras(texts.get("setup.cfg", ""))}
    named = [name for name in GROUPS if name in extras]
    groups = [f"--group {name}" for name in GROUPS if name in _table(content, "dependency-groups")]
    return [f"-e '.[{','.join(named)}]'" if named else "-e .", *groups]


def _with_others(
    lists: Collection[str], paths: Collection[str], texts: Mapping[str, str]
) -> tuple[str, ...] | None:
    """The lists, and those that they name; None where one was not read, or a line is about more
    than the index."""
    found = list(lists)
    for path in found:  # it grows
        if path not in texts:
            return None
        for line in _lines(texts[path]):
            option = next((each for each in _OTHER if line.startswith(each)), None)
            if option is None:
                if not _of_the_index(line, paths):
                    return None
            elif (other := _joined(path, line.removeprefix(option))) not in found:
                if other not in texts:
                    return None
                found.append(other)
    return tuple(sorted(found))


def _joined(path: str, value: str) -> str:
    """The path of a list that another one names, as an option's value."""
    return str(PurePosixPath(path).parent / value.lstrip(" =\t"))


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        if bare := re.sub(r"(^|\s)#.*$", "", line).strip():
            yield bare


def _of_the_index(line: str, paths: Collection[str]) -> bool:
    """Whether it is a plain requirement, with its hashes, and no file of the project (a wheel)."""
    words = (word for word in line.split() if not word.startswith("--hash="))
    try:
        found = Requirement(" ".join(words))
    except (ValueError, RecursionError):
        return False
    return found.url is None and found.name not in paths


def _toml(text: str) -> Mapping[str, Any]:
    if any(line.count(".") > MOST_DOTS for line in text.split("\n")):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _table(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = content.get(name)
    return found if isinstance(found, dict) else {}


def _extras(text: str) -> Collection[str]:
    """Those of a setup.cfg. `configparser` is quadratic in the spaces of a line."""
    section, names = "", set()
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip()
        elif section == "[options.extras_require]":  # their values begin with a space
            names.add(line.replace(":", "=").partition("=")[0].rstrip())
    return names
