"""Merges: a change that was made on one commit, onto another one, in a scratch repository.

Trees are merged: how the two commits are related does not count, so a shallow mirror is enough. Git
calls no program for it: a merge driver comes from a configuration, and there is none.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from worker.repositories.errors import RepositoryRefused, printable
from worker.repositories.git import Git, version
from worker.repositories.patches import Signature, who

OLDEST = (2, 38)
"""The first version with `merge-tree --write-tree`."""
NOW, CHANGE = "repository", "approved-change"
"""What conflict markers, and git's words on conflicts, call the two sides."""
_CONFLICTS = 1
_OURS, _THEIRS = "2", "3"
_EXECUTABLE, _LINK, _GONE = "100755", "120000", "000000"
_FILES = ("100644", _EXECUTABLE, _LINK)


@dataclass(frozen=True, slots=True)
class Merged:
    """The differences from the commit that the change was merged onto: regular files, the names of
    the `executable` files among them, targets of symbolic `links`, and `removed` paths. `conflicts`
    has git's message for each conflict. A file with a conflict has conflict markers; if git cannot
    merge it (a binary file), it is the file of the change."""

    files: Mapping[str, bytes]
    removed: frozenset[str]
    conflicts: tuple[str, ...]
    executable: frozenset[str] = frozenset()
    links: Mapping[str, str] = field(default_factory=dict)


class _Blob(NamedTuple):
    mode: str
    oid: str


async def merged(git: Git, began: str, onto: str, change: str) -> Merged:
    """The commit `change`, whose parent is `began`, merged onto the commit `onto`. The same commits
    give the same. Raises RepositoryRefused."""
    if (found := await asyncio.to_thread(version) or ()) < OLDEST:
        has = ".".join(map(str, found)) or "none"
        raise RepositoryRefused(f"a rebase needs git 2.38 or newer, and this worker has {has}")
    tree, unmerged, conflicts = _read(await _merge(git, began, onto, change))
    compared = ("diff-tree", "-r", "-z", "--no-renames", f"{onto}^{{tree}}", tree)
    after = {**unmerged, **dict(_compared(await git.run(*compared)))}
    files = {
        path: await git.run("cat-file", "blob", blob.oid, most_bytes=git.file_bytes)
        for path, blob in sorted(after.items())
        if blob.mode in _FILES
    }
    links = {path: os.fsdecode(files.pop(path)) for path in [*files] if after[path].mode == _LINK}
    executable = frozenset(path for path in files if after[path].mode == _EXECUTABLE)
    gone = frozenset(path for path, blob in after.items() if blob.mode == _GONE)
    return Merged(files, gone, conflicts, executable, links)


async def _merge(git: Git, began: str, onto: str, change: str) -> bytes:
    """What git says of it. A commit of the new tree right after the old commit makes that one the
    merge base, as `--merge-base` does from git 2.40 on."""
    by_nobody = replace(git, environment=who(Signature("", "", 0)))
    made = await by_nobody.run("commit-tree", f"{onto}^{{tree}}", "-p", began, "-m", NOW)
    for name, commit in ((NOW, made.decode().strip()), (CHANGE, change)):
        await git.run("update-ref", f"refs/heads/{name}", commit)
    return await git.run("merge-tree", "--write-tree", "-z", NOW, CHANGE, ends=(0, _CONFLICTS))


def _read(said: bytes) -> tuple[str, dict[str, _Blob], tuple[str, ...]]:
    """The merged tree; the change's own side of files that both sides have and that conflict; and
    git's words on conflicts."""
    tree, *fields = map(os.fsdecode, said.split(b"\0")[:-1])
    end = fields.index("") if "" in fields else len(fields)
    sides: dict[str, dict[str, _Blob]] = {}
    for row in fields[:end]:
        entry, _, path = row.partition("\t")
        mode, oid, stage = entry.split()
        sides.setdefault(path, {})[stage] = _Blob(mode, oid)
    unmerged = {path: each[_THEIRS] for path, each in sides.items() if {_OURS, _THEIRS} <= {*each}}
    return tree, unmerged, tuple(_conflicts(iter(fields[end + 1 :])))


def _conflicts(fields: Iterator[str]) -> Iterator[str]:
    """Of each message git says the number of paths, the paths, its kind and its text."""
    for number in fields:
        for _ in range(int(number)):
            next(fields)
        kind, text = next(fields), next(fields)
        if kind.startswith("CONFLICT"):
            yield printable(" ".join(text.split()))


def _compared(rows: bytes) -> Iterator[tuple[str, _Blob]]:
    """What each path that differs has afterwards. A row is modes, objects and a status."""
    fields = iter(rows.split(b"\0")[:-1])
    for row in fields:
        _, mode, _, oid, _ = row.decode().split()
        yield os.fsdecode(next(fields)), _Blob(mode, oid)
