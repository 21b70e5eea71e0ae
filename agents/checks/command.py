"""The command that runs the test files of acceptance checks. Pure.

See ADR 88.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from agents.checks.copied_files import SETTINGS
from agents.ports.checks import Checks
from agents.runs.pytest_runs import PYTHON, words_of_pytest

_RUN_AND_NAME_EACH_TEST = ("--maxfail=0", "--verbosity=1")
"""Options that follow those of the command, because the last value counts: `-x` does not stop the
run, and the output names the test that a time limit ends."""
_OPTIONS_OF_UNITTEST = frozenset(
    {"-v", "-q", "-f", "-b", "-c", "--verbose", "--quiet", "--failfast", "--buffer", "--catch"}
)
_PATTERNS = ("test_*.py", "*_test.py")
_PYTEST = ("python", "-m", "pytest")


@dataclass(frozen=True, slots=True)
class CheckCommand:
    """How test files are run. `is_pytest`: pytest runs and reports each test; otherwise only the
    exit code of the program is known."""

    argv: tuple[str, ...]
    is_pytest: bool


def command_of(checks: Checks, *, on_commit: bool = False) -> CheckCommand:
    """The command that runs the files. `on_commit`: pytest finds its settings in the files of a
    commit. Raises ValueError for a command that cannot be split."""
    settings = next((name for name in SETTINGS if name in checks.files), None)
    options = () if on_commit and settings is None else ("-c", settings or "/dev/null")
    words = shlex.split(checks.command or "")
    if checks.command is not None and not words:
        raise ValueError("the command has no words")
    if not words:
        return _pytest_command(checks, _PYTEST, options, [])
    if count := words_of_pytest(words):
        program = ["python" if PYTHON.fullmatch(word) else word for word in words[:count]]
        return _pytest_command(checks, program, options, words[count:])
    if PYTHON.fullmatch(words[0]) and words[1:3] == ["-m", "unittest"]:
        arguments = _pytest_arguments(words[3:], files_to_collect(checks.files))
        if arguments is not None:
            return _pytest_command(checks, _PYTEST, options, arguments)
    return CheckCommand(tuple(words), is_pytest=False)


def files_to_collect(paths: Iterable[str]) -> list[str]:
    """The files that pytest collects: `test_*.py` and `*_test.py`, or every Python file if no file
    has such a name."""
    python = sorted(path for path in paths if path.endswith(".py"))
    test_files = [
        path for path in python if any(fnmatch(_file_name(path), name) for name in _PATTERNS)
    ]
    not_tests = {"conftest.py", "__init__.py"}
    return test_files or [path for path in python if _file_name(path) not in not_tests]


def _pytest_command(
    checks: Checks, program: Sequence[str], settings: Sequence[str], arguments: Sequence[str]
) -> CheckCommand:
    """The command line of pytest. `settings`: the options that name its settings."""
    previous = [None, *arguments]
    words = [
        word for word, before in zip(arguments, previous, strict=False) if not _is_all(word, before)
    ]
    names_tests = any(_names_a_check(word, checks.files) for word in words)
    options = (*settings, "--rootdir", ".", "--continue-on-collection-errors")
    files = [] if names_tests else files_to_collect(checks.files)
    end = [*words, "--"].index("--")  # only names of tests follow `--`
    words[end:end] = _RUN_AND_NAME_EACH_TEST
    return CheckCommand((*program, *options, *words, *files), is_pytest=True)


def _is_all(word: str, before: str | None) -> bool:
    """Whether a word means all tests in the directory. Only the checks run, not the tests of the
    workspace. After a long option without `=`, the word may be the option's value."""
    may_be_value = before is not None and before.startswith("--") and "=" not in before
    return word.rstrip("/") == "." and not may_be_value


def _names_a_check(word: str, files: Mapping[str, str]) -> bool:
    path = word.partition("::")[0].rstrip("/")
    return any(file == path or file.startswith(f"{path}/") for file in files)


def _pytest_arguments(words: Sequence[str], files: Sequence[str]) -> list[str] | None:
    """The words after `-m unittest` as pytest's arguments; empty for all test `files`. None if
    pytest would not run the same tests."""
    names = [word for word in words if word not in _OPTIONS_OF_UNITTEST]
    if names in (["discover"], ["discover", "."], ["discover", "-s", "."]):
        return []
    node_ids = [_node_id(word, files) for word in names]
    return None if None in node_ids else [name for name in node_ids if name is not None]


def _node_id(word: str, files: Sequence[str]) -> str | None:
    """pytest's name for `tests.test_a.TestB.test_c` and `tests/test_a.py`."""
    if word in files:
        return word
    parts = word.split(".")
    for depth in range(len(parts), 0, -1):
        path = f"{'/'.join(parts[:depth])}.py"
        if path in files:
            return "::".join([path, *parts[depth:]])
    return None


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]
