"""The experiment: whether a verification can fail. Pure.

The same command runs again with some of the job's source files replaced by ones that cannot load.
If it still passes, it does not exercise these files, and is no evidence for them. Files that the
command names are its drivers: they stay, and all others are replaced together. If the command names
all of them, each is replaced by itself. Tests are part of the verification. If the job has made
only tests, the files that they test are replaced; the tests themselves only if there is no other
source file.

Why: docs/decisions/0041-evidence-by-experiment.md
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from agents.evidence.sources import is_test, unloadable

MOST_ALONE = 4
"""Up to so many files are replaced one by one; more are replaced together."""
_PACKAGE_FILES = frozenset({"__init__", "__main__"})


def groups(made: Collection[str], there: Collection[str], command: str) -> list[list[str]]:
    """The files of each experiment on `command`, a command line or a program. `made` are the job's
    source files, `there` all source files of the workspace."""
    code = _no_tests(made) or _no_tests(there) or sorted(made)
    rest = [path for path in code if not _names(command, path)]
    if rest or len(code) > MOST_ALONE:
        return [rest or code]
    return [[path] for path in code]


def _no_tests(sources: Collection[str]) -> list[str]:
    return sorted(path for path in sources if not is_test(path))


def replaced(files: Mapping[str, bytes], group: Collection[str]) -> dict[str, bytes]:
    """The `files`, with those of the `group` unable to load."""
    return {
        path: unloadable(path, content) if path in group else content
        for path, content in files.items()
    }


def _names(command: str, path: str) -> bool:
    """Whether the file's name, or its module's, is a word of the command."""
    stem = path.rpartition("/")[2].partition(".")[0]
    if stem in _PACKAGE_FILES:
        return False
    word = "make" if stem.lower().endswith("makefile") else stem
    there = word in command  # fast, if there are many files
    return there and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", command) is not None


def not_exercised(command: str, group: Sequence[str]) -> str:
    """The problem of a verification that still passed."""
    names = ", ".join(group)
    return (
        f"the verification `{command}` still passes when {names} cannot be loaded, so it does not"
        f" show that {'it works' if len(group) == 1 else 'they work'}: verify a command that"
        " runs all of the work, such as tests that import it"
    )
