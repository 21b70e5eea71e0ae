"""Finds the command that runs a project's tests, in its configuration or in the configuration of
its CI. Pure.

No code of the project is executed here. A wrong guess costs a run: the executor can declare another
verification, which has priority.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import Any, Final

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
