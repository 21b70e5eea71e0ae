"""CODEOWNERS in GitHub's form: the owners of changed files. Pure.

The last line that matches a path counts. Headings of GitLab's sections are not read.

See ADR 92.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from jobs.model.review_data import OwnersData

PATHS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""The possible paths of the file. The first one counts."""
_MOST_COMPARISONS = 2_000_000
"""Some seconds of work. If a change needs more, its files have no owner."""
_SPACE = re.compile(r"(?<!\\)\s+")
_ANY_DEPTH = "**"


def find_owners(text: str, paths: Collection[str]) -> list[OwnersData]:
    """The different lists of owners of these files, each with its first file."""
    stripped = (line.strip() for line in text.splitlines())
    lines = [_parse_line(line) for line in stripped if line and line[0] not in "#[^"]
    if len(lines) * len(paths) > _MOST_COMPARISONS:
        lines = []
    entries: dict[frozenset[str], OwnersData] = {}
    for path in sorted(paths):
        names = path.split("/")
        matching = (owners for pattern, owners in reversed(lines) if _matches(pattern, names))
        owners = next(matching, [])
        entries.setdefault(frozenset(owners), {"path": path, "owners": owners})
    return list(entries.values())


def _parse_line(line: str) -> tuple[Sequence[str], list[str]]:
    """The names of a line's pattern, and its owners."""
    pattern, *words = _SPACE.split(line.partition(" #")[0].strip())
    pattern = pattern.replace("\\ ", " ").replace("[", "[[]")
    names = pattern.strip("/").split("/")
    if "/" not in pattern.rstrip("/"):  # a name at any depth
        names = [_ANY_DEPTH, *names]
    if pattern.endswith("/"):
        names += ["*", _ANY_DEPTH]  # a directory
    elif not pattern.endswith("/*"):
        names += [_ANY_DEPTH]  # a file, or a directory
    return names, words


def _matches(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Whether the names of a path match. `**` matches any number of names. After a mismatch, only
    the last `**` takes a further name, so that no pattern needs exponential time."""
    at = position = 0
    retry: tuple[int, int] | None = None
    while position < len(names):
        if at < len(pattern) and pattern[at] == _ANY_DEPTH:
            at += 1
            retry = at, position
        elif at < len(pattern) and fnmatchcase(names[position], pattern[at]):
            at, position = at + 1, position + 1
        elif retry is not None:
            at, position = retry[0], retry[1] + 1
            retry = at, position
        else:
            return False
    return all(name == _ANY_DEPTH for name in pattern[at:])
