"""Finds the command that runs a project's tests, in its configuration or in the configuration of
its CI, and the place of its tests for pytest. Pure.

No code of the project is executed here. A wrong guess costs a run: the executor can declare another
verification, which has priority.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import Any, Final

from agents.layout.importable import joined, table
from agents.layout.setuptools import settings
from agents.layout.site import parse_toml
from agents.runs.sources import is_for_pytest

CONFIGURATIONS: Final = (
    *("pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"),
    *("package.json", "Cargo.toml", "go.mod", "Makefile"),
)
"""The files that configure tests, in the project's directory."""
_OF_CI = re.compile(r"\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.yml")
_MOST_OF_CI = 20
_CI_CHARACTERS = 64 * 1024
_LONGEST = 200
_CALL = re.compile(
    r" *(?:- +)?(?:(?:run|script): +)?"
    r"((pytest|python3?(?= -m pytest)|(?:npm|cargo|go|make)(?= test))(?: [\w./:=-]+)*)[ \r]*"
)
"""A line of CI that is a plain call of tests, without operators of a shell. Fettle reads lines, not
YAML: a YAML parser can take minutes for a few hundred bytes."""
_PYTEST = {
    "pytest.ini": re.compile(""),
    ".pytest.ini": re.compile(""),
    "pyproject.toml": re.compile(r"^\[tool\.pytest", re.MULTILINE),
    "setup.cfg": re.compile(r"^\[tool:pytest\]", re.MULTILINE),
    "tox.ini": re.compile(r"^\[pytest\]|\bpytest\b", re.MULTILINE),
}
_TARGET = re.compile(r"^test\s*:(?!=)", re.MULTILINE)
_UNWRITTEN = "no test specified"
"""The text that `npm init` writes in place of a test script."""


_SECTIONS = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest"}
_SECTIONS["setup.cfg"] = "tool:pytest"
_MOST_DIRECTORIES = 12


@dataclass(frozen=True, slots=True)
class SuiteLayout:
    """The place of a project's tests for pytest."""

    directories: tuple[str, ...]
    """Directories with tests, the most usual one first; empty for the project's directory."""
    names: tuple[str, ...] = ("test_*.py",)
    """The names of files with tests, as patterns."""

    def normal_path(self, path: str) -> str:
        """The path of a new file: in a directory for tests, or else in the first of them."""
        folder, _slash, name = path.rpartition("/")
        is_inside = any(
            folder == directory or (directory and folder.startswith(f"{directory}/"))
            for directory in self.directories
        )
        return path if is_inside or not self.directories else joined(self.directories[0], name)

    def is_free(self, path: str, paths: Collection[str]) -> bool:
        """Whether a project with these `paths` can have a new file of tests. Without packages,
        pytest takes no two files of one name."""
        folder, _slash, name = path.rpartition("/")
        if path in paths or not any(fnmatch(name, pattern) for pattern in self.names):
            return False
        is_alone = all(present.rpartition("/")[2] != name for present in paths)
        return is_alone or joined(folder, "__init__.py") in paths


BESIDE: Final = SuiteLayout(())
"""Tests may be anywhere, as in a job without a repository."""


def suite_layout(paths: Collection[str], texts: Mapping[str, str]) -> SuiteLayout:
    """The layout by pytest's settings, or else by the tests that the project has. The arguments are
    those of `project_tests`."""
    configured = _pytest_settings(texts)
    names = tuple(_words(configured.get("python_files"))) or ("test_*.py", "*_test.py")
    folders = Counter(
        path.rpartition("/")[0]
        for path in paths
        if any(fnmatch(path.rpartition("/")[2], name) for name in names)
    )
    below = {folder: f"{folder}/" for folder in map(joined, _words(configured.get("testpaths")))}
    roots = [
        folder for folder, prefix in below.items() if any(path.startswith(prefix) for path in paths)
    ]
    usual = [folder for folder, _ in folders.most_common(_MOST_DIRECTORIES)]
    return SuiteLayout(tuple(roots or usual or ["tests"]), names)


def _pytest_settings(texts: Mapping[str, str]) -> Mapping[str, Any]:
    """The settings in the first of the project's files that has some for pytest."""
    for name in CONFIGURATIONS:
        if name == "pyproject.toml":
            tool = table(parse_toml(texts.get(name, "")), "tool", "pytest")
            section = table(tool, "ini_options") or tool
        else:
            prefix = f"{_SECTIONS.get(name)}."
            pairs = dict(settings(texts.get(name, ""))) if name in _SECTIONS else {}
            section = {
                key.removeprefix(prefix): value
                for key, value in pairs.items()
                if key.startswith(prefix)
            }
        if section:
            return section
    return {}


def _words(value: object) -> list[str]:
    """The words of a setting, which is a list or a text."""
    if isinstance(value, str):
        try:
            return shlex.split(value, comments=True)
        except ValueError:
            return []
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def configuration_paths(paths: Collection[str]) -> tuple[str, ...]:
    """The project's files that `project_tests` reads."""
    of_ci = sorted(path for path in paths if _OF_CI.fullmatch(path))
    return (*(name for name in CONFIGURATIONS if name in paths), *of_ci[:_MOST_OF_CI])


def project_tests(
    paths: Collection[str], texts: Mapping[str, str], programs: Collection[str]
) -> tuple[str, ...]:
    """The argv; empty if no file configures tests. `paths` are all files of the project, `texts`
    the contents of its `configuration_paths`, `programs` the programs of the sandbox besides
    Python."""
    if any(rule.search(texts[name]) for name, rule in _PYTEST.items() if name in texts):
        return ("pytest",)
    if any(is_for_pytest(path) and _is_usual(path) for path in paths):
        return ("pytest",)
    if "npm" in programs and _npm_test(texts.get("package.json", "")):
        return ("npm", "test")
    if "cargo" in programs and "Cargo.toml" in texts:
        return ("cargo", "test")
    if "go" in programs and "go.mod" in texts:
        return ("go", "test", "./...")
    if "make" in programs and _TARGET.search(texts.get("Makefile", "")):
        return ("make", "test")
    return _of_ci(texts, {*programs, "pytest", "python", "python3"})


def _of_ci(texts: Mapping[str, str], programs: Collection[str]) -> tuple[str, ...]:
    """The first plain call in the CI's files."""
    lines = (
        line
        for path in sorted(filter(_OF_CI.fullmatch, texts))
        for line in texts[path][:_CI_CHARACTERS].split("\n")
        if len(line) <= _LONGEST
    )
    calls = filter(None, map(_CALL.fullmatch, lines))
    return next((tuple(call[1].split()) for call in calls if call[2] in programs), ())


def _is_usual(path: str) -> bool:
    """Whether tests are usually at this path: in the project's directory, or in a folder for
    tests."""
    return "/" not in path or path.partition("/")[0] in {"test", "tests"}


def _npm_test(text: str) -> bool:
    try:
        package: Any = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return False
    scripts = package.get("scripts") if isinstance(package, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    return isinstance(script, str) and bool(script.strip()) and _UNWRITTEN not in script
