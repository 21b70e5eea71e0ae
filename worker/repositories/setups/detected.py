"""Which command installs what a project needs, by its own files. Pure.

Nothing of it is executed here. A wrong guess ends the job with the command's own output, and a
person names another one.
"""

from __future__ import annotations

import configparser
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

REQUIREMENTS = re.compile(
    r"(requirements([-_.](dev|development|tests?|testing))?|(dev|tests?)[-_.]requirements"
    r"|requirements/(dev|development|tests?|testing))\.txt"
)
"""What tests need; a project may have other lists, of its documents' needs or of production's."""
PROJECTS: Final = ("pyproject.toml", "setup.py", "setup.cfg")
LOCKS: Final = ("package-lock.json", "npm-shrinkwrap.json")
GROUPS: Final = ("test", "tests", "testing", "dev")
"""Extras, or dependency groups, of those who work on a project."""
MOST_FILES = 50
_LIST = re.compile(
    r"(\w+/)?[\w.-]*(requirements|constraints)[\w.-]*\.txt|requirements/[\w.-]+\.txt"
)
"""Lists of requirements, and what they usually name."""
_OTHER = re.compile(r"(?:-r|-c|--requirement|--constraint)[ =]*(\S+)$")
_OF_THE_INDEX = re.compile(r"[A-Za-z0-9][\w.-]*\s*(\[[^\]]*\])?\s*([<>=!~;].*|\s--hash.*)?$")


@dataclass(frozen=True, slots=True)
class Setup:
    """A command for `sh`, in the project's directory. It sees all of the project, or the files of
    `paths` alone."""

    command: str
    paths: tuple[str, ...] = ()


def wanted(paths: Collection[str]) -> tuple[str, ...]:
    """Which of the project's files `detected` reads."""
    lists = sorted(path for path in paths if _LIST.fullmatch(path))
    return (*(name for name in PROJECTS if name in paths), *lists[:MOST_FILES])


def detected(
    paths: Collection[str], texts: Mapping[str, str], programs: Collection[str]
) -> Setup | None:
    """None where nothing says which. `paths` are all files of the project, `texts` those of
    `wanted`, `programs` what the sandbox has beside Python and pip."""
    lists = [path for path in texts if REQUIREMENTS.fullmatch(path)]
    project = _project(texts, alone=not lists)
    commands = []
    if lists or project:
        named = [f"-r {path}" for path in lists]
        commands.append(" ".join(("pip install", *named, *project)))
    if "npm" in programs and "package.json" in paths and not {*LOCKS}.isdisjoint(paths):
        commands.append("npm ci")
    if not commands:
        return None
    alone = not project and len(commands) == 1 and bool(lists)
    return Setup(" && ".join(commands), (_with_others(lists, texts) or ()) if alone else ())


def _project(texts: Mapping[str, str], *, alone: bool) -> list[str]:
    """pip's words for the project itself; none where it cannot be installed. One that only says
    what it is named, beside a list of requirements, is no package."""
    content = _toml(texts.get("pyproject.toml", ""))
    project, system = _table(content, "project"), _table(content, "build-system")
    if not ("setup.py" in texts or system or (project and alone)):
        return []
    extras = {*_table(project, "optional-dependencies"), *_extras(texts.get("setup.cfg", ""))}
    named = [name for name in GROUPS if name in extras]
    groups = [f"--group {name}" for name in GROUPS if name in _table(content, "dependency-groups")]
    return [f"-e '.[{','.join(named)}]'" if named else "-e .", *groups]


def _with_others(lists: Collection[str], texts: Mapping[str, str]) -> tuple[str, ...] | None:
    """The lists, and those that they name; None where a line is about more than the index."""
    found: list[str] = []
    left = list(lists)
    while left:
        path = left.pop(0)
        if path in found:
            continue
        if path not in texts:
            return None
        found.append(path)
        for line in _lines(texts[path]):
            if other := _OTHER.match(line):
                left.append(str(PurePosixPath(path).parent / other[1]))
            elif not _OF_THE_INDEX.match(line):
                return None
    return tuple(sorted(found))


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\r\n", " ").replace("\\\n", " ").splitlines():
        if bare := re.sub(r"(^|\s)#.*$", "", line).strip():
            yield bare


def _toml(text: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _table(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = content.get(name)
    return found if isinstance(found, dict) else {}


def _extras(text: str) -> Collection[str]:
    """Those of a setup.cfg."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
        return parser.options("options.extras_require")
    except configparser.Error:
        return ()
