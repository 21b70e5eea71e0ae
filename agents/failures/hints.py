"""Hints: facts about a failed run that the model cannot read in its output. Pure.

Most failures have no hint, because the model reads the traceback itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from agents.failures.failure import FailureClass
from agents.state import Run, text_in
from sandbox.protocol import End

_INSTALLS = re.compile(
    r"(^|[;&|({])[ \t]*((sudo|\w+=\S*|python[\d.]* +-m) +)*"
    r"(pip3?|uv|conda|apt|apt-get|npm|cargo|gem) +(pip +)?(install|add)\b",
    re.MULTILINE,
)
"""A command that installs; not a text with such a command, as in a search in documentation."""
_TESTS = re.compile(r"\b(pytest|unittest|nox|tox|ctest|(npm|go|cargo|make|mvn|gradle) +test)\b")
_NO_MODULE = re.compile(r"No module named '(?P<name>\w+)'")
_READ_ONLY = re.compile(r"\[Errno (1|13|30)\]")
"""EPERM, EACCES, EROFS."""
_FULL = re.compile(r"\[Errno (27|28|122)\]")
"""EFBIG, ENOSPC, EDQUOT."""


class HintKind(StrEnum):
    """The kind of a hint. `executor/hint.md.j2` has the texts."""

    INSTALLING = "installing"
    """A shell command tried to install something."""
    OWN_MODULE = "own_module"
    """A module of the working directory is not on the module path."""
    NO_MODULE = "no_module"
    """A module is not installed."""
    READ_ONLY = "read_only"
    """A path cannot be written."""
    SLOW_TESTS = "slow_tests"
    """A limit of time ended a run of tests."""
    KILLED = "killed"
    """The run was killed, probably for its memory."""
    FULL = "full"
    """A file, or all files together, exceeded their limit."""
    NETWORK = "network"
    """The sandbox has no network."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A hint, and the `path` of the module that it is about."""

    kind: HintKind
    path: str = ""


def hint_of(run: Run, paths: Collection[str]) -> Hint | None:
    """The hint for a failed run, if one says more than its output. `paths` are the workspace's."""
    failure: Mapping[str, Any] = run.get("failure") or {}
    cause, code = str(failure.get("cause", "")), text_in(run, "code")
    if run.get("tool") == "shell" and _INSTALLS.search(code):
        return Hint(HintKind.INSTALLING)
    match failure.get("class"):
        case FailureClass.IMPORT if missing := _NO_MODULE.search(cause):
            path = _path_of(missing["name"], paths)
            return Hint(HintKind.OWN_MODULE, path) if path else Hint(HintKind.NO_MODULE)
        case FailureClass.FILE if _READ_ONLY.search(cause):
            return Hint(HintKind.READ_ONLY)
        case FailureClass.TIMEOUT if _TESTS.search(code):
            return Hint(HintKind.SLOW_TESTS)
        case FailureClass.MEMORY if run["end"] != End.MEMORY and not failure.get("exception"):
            return Hint(HintKind.KILLED)
        case FailureClass.OUTPUT_FLOOD if _FULL.search(cause):
            return Hint(HintKind.FULL)
        case FailureClass.NETWORK_DENIED:
            return Hint(HintKind.NETWORK)
        case _:
            return None


def _path_of(module: str, paths: Collection[str]) -> str:
    """The shortest path of a module or package in the workspace; empty if it has no such module."""
    file = f"/{module}.py"
    files = [path for path in paths if f"/{path}".endswith(file)]
    packages = [
        f"{parent}/"
        for path in paths
        for parent, _, name in [path.rpartition("/")]
        if name.endswith(".py") and f"/{parent}".endswith(f"/{module}")
    ]
    return min([*files, *packages], key=len, default="")
