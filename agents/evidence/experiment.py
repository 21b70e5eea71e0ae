"""The experiment: whether a verification can fail. Pure.

The same command is run with some of the job's source files replaced by ones that cannot load. If it
stays green, it does not exercise these files, and is no evidence for them. The files that a command
names are its drivers: they are left as they are, and all others are replaced together. Where the
command names them all, each is replaced by itself. Tests are part of the verification: where the
job has made nothing else, what they test is replaced, and they themselves only where there is no
other source file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from agents.evidence.sources import is_test, unloadable

MOST_ALONE = 4
"""Files that are replaced one by one; more than these are replaced together."""
_PACKAGE_FILES = frozenset({"__init__", "__main__"})


def groups(made: Collection[str], there: Collection[str], command: str) -> list[list[str]]:
    """The files of each experiment on `command`, which is a command line or a program. `made` are
    the source files of the job, `there` all of the workspace."""
    code = _no_tests(made) or _no_tests(there) or sorted(made)
    rest = [path for path in code if not _names(command, path)]
    if rest or len(code) > MOST_ALONE:
        return [rest or code]
    return [[path] for path in code]


def _no_tests(sources: Collection[str]) -> list[str]:
    return sorted(path for path in sources if not is_test(path))


def replaced(files: Mapping[str, bytes], group: Collection[str]) -> dict[str, bytes]:
    """The `files` with those of the `group` unable to load."""
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
    there = word in command  # which takes no time, where there are many files
    return there and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", command) is not None


def not_exercised(command: str, group: Sequence[str]) -> str:
    """What is said of a verification that stayed green."""
    names = ", ".join(group)
    return (
        f"the verification `{command}` stays green when {names} cannot be loaded, so it does not"
        f" show that {'it works' if len(group) == 1 else 'they work'}: verify a command that"
        " runs all of the work, such as tests that import it"
    )
