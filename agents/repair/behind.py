"""Behind: what a command line changes after the last program that it runs. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from agents.repair.command_line import is_aside_command, name
from agents.repair.simple_command import Simple, path_of, split, without_documents

_COPIES = frozenset({"cp", "install", "ln"})
_ONTO = _COPIES | {"mv"}
"""These write their last word."""
_IN_PLACE = re.compile(r"-[nErsz]*i|--in-place\b")
_SOMEWHERE = frozenset({"patch", "unzip"})
"""These do not say which files they write; nor do tar that unpacks, and git with one of these
words."""
_UNPACKS = re.compile(r"-\w*x\w*|--extract|--get")
_UNPACKS_OLD = re.compile(r"\w*x\w*")
"""tar's first word, which needs no dash."""
_GIT = frozenset({"am", "apply", "checkout", "merge", "pull", "reset", "restore", "switch"})
_STASH_KEEPS = frozenset({"clear", "create", "drop", "list", "show"})
"""Words of `git stash` that leave the files as they are."""
_HERE = frozenset({".", "./", ""})


def edits_behind(text: str, changed: Collection[str]) -> bool:
    """Whether a command line that has `changed` these files writes one of them when all that it
    runs has ended: `python sums.py && sed -i s/-/+/ sums.py`."""
    found = [*split(without_documents(text, lambda _: True))]
    runs = [at for at, simple in enumerate(found) if _is_run(simple)]
    behind = found[runs[-1] + 1 :] if runs else found
    ran = frozenset(path_of(word) for at in runs for word in _named(found[at]))
    edits = [simple for simple in behind if not _is_copy(simple, ran)]
    return any(_writes(simple, path) for simple in edits for path in changed)


def _is_copy(simple: Simple, ran: frozenset[str]) -> bool:
    """Whether it copies what `ran`, to a name that did not: `python a.py && cp a.py final.py`."""
    if not simple.words or name(simple.words) not in _COPIES:
        return False
    plain = [path_of(word) for word in simple.words[1:] if not word.startswith("-")]
    return len(plain) > 1 and ran.issuperset(plain[:-1]) and plain[-1] not in ran


def _named(simple: Simple) -> Sequence[str]:
    return [*simple.words, *simple.sources]


def _is_run(simple: Simple) -> bool:
    return bool(simple.words) and not is_aside_command(simple.words)


def _writes(simple: Simple, path: str) -> bool:
    words = simple.words
    own = name(words) if words else ""
    if own in _SOMEWHERE or _brings_files(own, words[1:]):
        return True
    named = [*simple.targets]
    if own in _ONTO:
        named += words[-1:]
    elif own == "tee" or (own == "sed" and any(map(_IN_PLACE.match, words))):
        named += words[1:]
    return any(_fits(path, word) for word in named)


def _brings_files(own: str, given: Sequence[str]) -> bool:
    if own == "tar":
        return any(map(_UNPACKS.fullmatch, given)) or any(map(_UNPACKS_OLD.fullmatch, given[:1]))
    if own == "git" and given[:1] == ["stash"]:
        return _STASH_KEEPS.isdisjoint(given[1:2])
    return own == "git" and not _GIT.isdisjoint(given[:1])


def _fits(path: str, word: str) -> bool:
    plain = path_of(word)
    return plain in _HERE or fnmatchcase(path, plain) or path.endswith(f"/{plain}")
