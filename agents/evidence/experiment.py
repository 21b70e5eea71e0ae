"""Experiments: whether a verification can fail. Pure.

The same command runs again over changed files.

before      the files that the job changed are as they were before the job; its tests stay
unloadable  one source file of the job cannot load

A file that the command names is its driver, and is not tried if there is another source file.
Tests are part of the verification. If the job has changed only tests, the files that they test are
made unable to load, all together.

Why: docs/decisions/0079-experiments-that-discriminate.md
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from agents.evidence.changes import ChangedFile
from agents.runs.sources import is_source, is_test, unloadable

MOST_ALONE = 8
"""So many files, at most, are made unable to load one by one."""
INSTALLER = "setup.py"
"""No test imports it: it only names the modules that tests import."""
_PACKAGE_FILES = frozenset({"__init__", "__main__"})


def tried_alone(
    changed: Sequence[ChangedFile], sources: Collection[str], command: str
) -> list[str]:
    """The files that a verification by `command` (a command line or a program) has to exercise,
    the largest change first. `sources` are all source files of the workspace. The list has only
    tests if there is nothing else, and is empty if the job has only deleted files."""
    by_size = sorted(changed_sources(changed), key=lambda file: (-file.size, file.path))
    paths = [file.path for file in by_size if file.after is not None]
    if not paths:
        return []
    code = _no_tests(paths) or _no_tests(sources) or paths
    code = [path for path in code if path != INSTALLER] or code
    places = {path: at for path in code if (at := _named_at(command, path)) is not None}
    if len(places) < len(code):
        return [path for path in code if path not in places]
    driver = min(code, key=lambda path: places[path])
    return [path for path in code if path != driver] or code


def is_its_own_check(changed: Sequence[ChangedFile], command: str) -> bool:
    """Whether the command runs only the programs that the job changed: it names each of them."""
    paths = [file.path for file in changed_sources(changed)]
    return bool(paths) and all(_names(command, path) for path in paths)


def changed_sources(changed: Sequence[ChangedFile]) -> list[ChangedFile]:
    """The changed source files, deleted files included."""
    return [file for file in changed if is_source(file.path, file.after or file.before or b"")]


def to_revert(changed: Sequence[ChangedFile], command: str) -> list[ChangedFile]:
    """The files that the experiment `before` reverts: not the tests, and no new file that the
    command names, because it is a part of the verification."""
    return [
        file
        for file in changed
        if not is_test(file.path) and not (file.before is None and _names(command, file.path))
    ]


def _no_tests(sources: Collection[str]) -> list[str]:
    return [path for path in sources if not is_test(path)]


def replaced(files: Mapping[str, bytes], group: Collection[str]) -> dict[str, bytes]:
    """The `files`, with those of the `group` unable to load."""
    return {
        path: unloadable(path, content) if path in group else content
        for path, content in files.items()
    }


def _names(command: str, path: str) -> bool:
    return _named_at(command, path) is not None


def _named_at(command: str, path: str) -> int | None:
    """Where the file's name, or its module's, is a word of the command; None if it is not."""
    stem = path.rpartition("/")[2].partition(".")[0]
    if stem in _PACKAGE_FILES:
        return None
    word = "make" if stem.lower().endswith("makefile") else stem
    if word not in command:  # fast, if there are many files
        return None
    match = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", command)
    return match.start() if match else None
