"""The files that a verification has to exercise, and the files that are reverted. Pure.

A file that the command names is its driver, and need not be exercised if there is another source
file. Tests are part of the verification. If the job has changed only tests, all other source files
of the workspace have to be exercised.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from agents.evidence.changes import ChangedFile
from agents.runs.sources import is_source, is_test

INSTALLER = "setup.py"
"""No test imports it: it only names the modules that tests import."""
_PACKAGE_FILES = frozenset({"__init__", "__main__"})


def files_to_exercise(
    changed: Sequence[ChangedFile], sources: Collection[str], command: str
) -> list[str]:
    """The files that a verification by `command` (a command line or a program) has to exercise,
    the largest change first. `sources` are all source files of the workspace. The list has only
    tests if there is nothing else, and is empty if the job has only deleted files."""
    by_size = sorted(changed_sources(changed), key=lambda file: (-file.size, file.path))
    paths = [file.path for file in by_size if file.after is not None]
    if not paths:
        return []
    code = _without_tests(paths) or _without_tests(sources) or paths
    code = [path for path in code if path != INSTALLER] or code
    positions = {path: at for path in code if (at := _position(command, path)) is not None}
    if unnamed := [path for path in code if path not in positions]:
        return unnamed
    driver = min(code, key=lambda path: positions[path])
    return [path for path in code if path != driver] or code


def files_to_revert(changed: Sequence[ChangedFile], command: str) -> list[ChangedFile]:
    """The files that the experiment `before` reverts: not the tests, and no new file that the
    command names, because it is a part of the verification."""
    return [
        file
        for file in changed
        if not is_test(file.path) and not (file.before is None and _is_named(command, file.path))
    ]


def changed_sources(changed: Sequence[ChangedFile]) -> list[ChangedFile]:
    """The changed source files, deleted files included."""
    return [file for file in changed if is_source(file.path, file.after or file.before or b"")]


def is_its_own_check(changed: Sequence[ChangedFile], command: str) -> bool:
    """Whether the command runs only the programs that the job changed: it names each of them."""
    paths = [file.path for file in changed_sources(changed)]
    return bool(paths) and all(_is_named(command, path) for path in paths)


def _without_tests(paths: Collection[str]) -> list[str]:
    return [path for path in paths if not is_test(path)]


def _is_named(command: str, path: str) -> bool:
    return _position(command, path) is not None


def _position(command: str, path: str) -> int | None:
    """The position of the file's name, or of its module's name, as a word of the command; None if
    the command does not name the file."""
    stem = path.rpartition("/")[2].partition(".")[0]
    if stem in _PACKAGE_FILES:
        return None
    word = "make" if stem.lower().endswith("makefile") else stem
    if word not in command:  # faster than the search, which matters for many files
        return None
    match = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", command)
    return match.start() if match else None
