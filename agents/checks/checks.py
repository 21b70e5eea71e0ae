"""Checks: what a caller requires, and how it is run. Pure.

Why: docs/decisions/0038-tests-are-run-not-guarded.md
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import Literal

from agents.checks.copied_files import SETTINGS
from agents.checks.report import JudgedBy
from agents.checks.supervised.expected import collected
from agents.ports.checks import Checks

Kind = Literal["pytest", "script", "command"]
JUDGED_BY: Mapping[Kind, JudgedBy] = {
    "pytest": "tests",
    "script": "script",
    "command": "exit_code",
}

_PYTHON = re.compile(r"python(3(\.\d+)?)?")
_OF_PYTHON = re.compile(r"-[uBIEsS]+")
"""Options of the interpreter that do not change what a check finds."""
_LEFT_OUT = re.compile(
    r"-[qvsx]+|-r\w*|--tb=\w+|--color=\w+|--no-header|--no-summary|--exitfirst|--maxfail=\d+"
)
"""Options of pytest that change its output or stop it early: every test has to be reported."""
_OF_UNITTEST = frozenset(
    {"-v", "-q", "-f", "-b", "-c", "--verbose", "--quiet", "--failfast", "--buffer", "--catch"}
)


@dataclass(frozen=True, slots=True)
class Plan:
    """How test files are run. `words` are pytest's options, a script with its arguments, or a whole
    command line. `tests` are the files that pytest collects, `aimed` those parts that the caller
    named. `importable`: the workspace's directory is on the module path, as `python -m` puts it."""

    kind: Kind
    words: tuple[str, ...]
    tests: tuple[str, ...] = ()
    aimed: tuple[str, ...] = ()
    settings: str = "/dev/null"
    importable: bool = True


def plan(checks: Checks) -> Plan:
    """How to run the files. Raises ValueError for a command that cannot be split."""
    words = shlex.split(checks.command or "")
    if checks.command is not None and not words:
        raise ValueError("the command has no words")
    if not words:
        return _with_pytest(checks, [])
    if words[0] == "pytest":
        return replace(_with_pytest(checks, words[1:]), importable=False)
    if _PYTHON.fullmatch(words[0]):
        after = list(dropwhile(_OF_PYTHON.fullmatch, words[1:]))
        if planned := _with_python(checks, after):
            return planned
    return Plan("command", tuple(words))


def _with_python(checks: Checks, words: Sequence[str]) -> Plan | None:
    """For the words after `python`; None if only an exit code can be known."""
    if words[:2] == ["-m", "pytest"]:
        return _with_pytest(checks, words[2:])
    if words[:2] == ["-m", "unittest"]:
        named = _aims(words[2:], collected(checks.files))
        return None if named is None else _with_pytest(checks, named)
    if words and words[0].removeprefix("./") in checks.files:
        return Plan("script", (words[0].removeprefix("./"), *words[1:]), importable=False)
    return None


def _with_pytest(checks: Checks, words: Sequence[str]) -> Plan:
    kept = [word for word in words if not _LEFT_OUT.fullmatch(word)]
    kept = [word for word, at in zip(kept, [None, *kept], strict=False) if not _is_all(word, at)]
    aimed = tuple(word for word in kept if _names_a_check(word, checks.files))
    given = next((name for name in SETTINGS if name in checks.files), None)
    return Plan(
        kind="pytest",
        words=tuple(kept),
        tests=tuple(collected(checks.files)),
        aimed=aimed,
        settings=f"/work/{given}" if given else "/dev/null",
    )


def _is_all(word: str, before: str | None) -> bool:
    """Whether a word means everything in the directory: only the checks run, not the work's
    tests."""
    return word.rstrip("/") == "." and not (before or "").startswith("-")


def _names_a_check(word: str, files: Mapping[str, str]) -> bool:
    path = word.partition("::")[0].rstrip("/")
    return any(each == path or each.startswith(f"{path}/") for each in files)


def _aims(words: Sequence[str], tests: Sequence[str]) -> list[str] | None:
    """The words after `-m unittest` as pytest arguments; empty for all files of `tests`. None for
    anything else: pytest would not run the same."""
    named = [word for word in words if word not in _OF_UNITTEST]
    if named in (["discover"], ["discover", "."], ["discover", "-s", "."]):
        return []
    aimed = [_aim(word, tests) for word in named]
    return None if None in aimed else [aim for aim in aimed if aim is not None]


def _aim(word: str, tests: Sequence[str]) -> str | None:
    """For `tests.test_a.TestB.test_c` and `tests/test_a.py`."""
    if word in tests:
        return word
    parts = word.split(".")
    for depth in range(len(parts), 0, -1):
        path = f"{'/'.join(parts[:depth])}.py"
        if path in tests:
            return "::".join([path, *parts[depth:]])
    return None
