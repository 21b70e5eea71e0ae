"""Behind: what a command line changes after the last program that it runs. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import fnmatchcase

from agents.repair.command_line import is_aside_command, name
from agents.repair.simple_command import Simple, split, without_documents

_ONTO = frozenset({"cp", "install", "ln", "mv"})
"""These write their last word."""
_IN_PLACE = re.compile(r"-[nErsz]*i|--in-place\b")
_SOMEWHERE = frozenset({"patch", "tar", "unzip"})
"""These do not say which files they write; nor does git with one of these words."""
_GIT = frozenset(
    {"am", "apply", "checkout", "merge", "pull", "reset", "restore", "stash", "switch"}
)
_HERE = frozenset({".", "./", ""})


def edits_behind(text: str, changed: Collection[str]) -> bool:
    """Whether a command line that has `changed` these files writes one of them when all that it
    runs has ended: `python sums.py && sed -i s/-/+/ sums.py`."""
    found = [*split(without_documents(text, lambda _: True))]
    runs = [at for at, simple in enumerate(found) if _is_run(simple)]
    behind = found[runs[-1] + 1 :] if runs else found
    return any(_writes(simple, path) for simple in behind for path in changed)


def _is_run(simple: Simple) -> bool:
    return bool(simple.words) and not is_aside_command(simple.words)


def _writes(simple: Simple, path: str) -> bool:
    words = simple.words
    own = name(words) if words else ""
    if own in _SOMEWHERE or (own == "git" and not _GIT.isdisjoint(words[1:2])):
        return True
    named = [*simple.targets]
    if own in _ONTO:
        named += words[-1:]
    elif own == "tee" or (own == "sed" and any(map(_IN_PLACE.match, words))):
        named += words[1:]
    return any(_fits(path, word) for word in named)


def _fits(path: str, word: str) -> bool:
    plain = word.removeprefix("/work/").removeprefix("./")
    return plain in _HERE or fnmatchcase(path, plain) or path.endswith(f"/{plain}")
