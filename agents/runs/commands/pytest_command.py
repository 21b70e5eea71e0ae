"""Which commands run pytest, and how. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_PYTHON = re.compile(r"python(3(\.\d+)?)?")
_OPTION = re.compile(r"-[bBdEiIOPqRsuvx]+|-[WX].+|--check-hash-based-pycs=.*")
"""An option of the interpreter after which it still finds the installed packages."""
_WITH_VALUE = ("-W", "-X")
_MODULE = ("-m", "pytest")


def pytest_over(paths: Iterable[str]) -> list[str]:
    """The words that start pytest if only test files are named. Tests in a folder find
    modules of a project without metadata only in the working directory, which `python -m` puts on
    the module path, here and in a clone."""
    in_folders = any("/" in path.partition("::")[0] or not _is_file(path) for path in paths)
    return ["python", "-m", "pytest"] if in_folders else ["pytest"]


def _is_file(path: str) -> bool:
    return path == "." or path.partition("::")[0].endswith(".py")


def is_assignment(word: str) -> bool:
    """Whether it sets a variable: `NAME=value`."""
    return _ASSIGNMENT.fullmatch(word) is not None


def words_of_pytest(words: Sequence[str]) -> int:
    """How many words of a command start pytest, with an `env` before it and the options of Python;
    0 for another program."""
    start = _words_of_env(words)
    if start < len(words) and words[start] == "pytest":
        return start + 1
    if start == len(words) or not _PYTHON.fullmatch(words[start]):
        return 0
    at = start + 1
    while at < len(words) and (words[at] in _WITH_VALUE or _OPTION.fullmatch(words[at])):
        at += 2 if words[at] in _WITH_VALUE else 1
    return at + 2 if tuple(words[at : at + 2]) == _MODULE else 0


def _words_of_env(words: Sequence[str]) -> int:
    """How many words are `env` with the variables that it sets and unsets."""
    if not words or words[0] != "env":
        return 0
    at = 1
    while at < len(words):
        if words[at] in {"-u", "--unset"}:
            at += 2
        elif words[at].startswith("--unset=") or words[at] == "-i" or is_assignment(words[at]):
            at += 1
        else:
            break
    return min(at, len(words))
