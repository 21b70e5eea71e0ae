"""Merges: a change of one commit onto another commit, in a scratch repository; and two changes of
one text.

Git merges trees: it does not need the history between the two commits, so a shallow mirror is
enough. If the history shows that the other commit follows the change, no merge is needed, even if
later commits have changed the same lines. Git starts no program for a merge: merge drivers come
from a configuration, and the scratch repository has no configuration.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sandbox.protocol import MIB
from settings.repositories import RepositorySettings
from worker.repositories.errors import RepositoryRefused, printable
from worker.repositories.folders import RepositoryFolders
from worker.repositories.git import Git, GitFailed, GitTooMuch, program, version
from worker.repositories.mirrors import process
from worker.repositories.patches import Signature, identity
from worker.repositories.refs import is_ancestor

OLDEST = (2, 38)
"""The first version with `merge-tree --write-tree`."""
NOW, CHANGE = "repository", "approved-change"
"""The names of the two sides in conflict markers and in git's messages."""
_CONFLICTS = 1
_OURS, _THEIRS = "2", "3"
_EXECUTABLE, _LINK, _REMOVED, _SUBMODULE = "100755", "120000", "000000", "160000"
_FILES = ("100644", _EXECUTABLE, _LINK)
MOST_TEXT_BYTES = 4 * MIB
"""Larger files are not merged line by line."""
_CONFLICTING_TEXTS = range(1, 128)
"""The exit codes of `git merge-file` for conflicts: their number."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The differences from the commit that the change was merged onto."""

    files: Mapping[str, bytes]
    """Regular files. A file with a conflict has conflict markers; if git cannot merge it (a binary
    file), it is the file of the change."""
    removed: frozenset[str]
    conflicts: tuple[str, ...]
    """Git's message for each conflict."""
    executable: frozenset[str] = frozenset()
    """The paths of `files` that can be executed."""
    links: Mapping[str, str] = field(default_factory=dict)
    """The targets of symbolic links."""
    submodules: frozenset[str] = frozenset()
    """The submodules with another commit."""

    @property
    def is_empty(self) -> bool:
        """Whether the commit has the full change already."""
        return not (self.files or self.links or self.removed or self.conflicts or self.submodules)


class _Blob(NamedTuple):
    mode: str
    oid: str


async def merge_commits(git: Git, start: str, onto: str, change: str) -> Merged:
    """Merge the difference between the commits `start` and `change` onto the commit `onto`. Raises
    RepositoryRefused."""
    if await is_ancestor(git, change, onto):
        return Merged({}, frozenset(), ())
    if (installed := await asyncio.to_thread(version) or ()) < OLDEST:
        number = ".".join(map(str, installed)) or "none"
        raise RepositoryRefused(
            "a rebase, and a follow-up on a change that is not merged yet, need git 2.38 or newer, "
            f"and this worker has {number}"
        )
    tree, unmerged, conflicts = _read(await _merge(git, start, onto, change))
    compared = ("diff-tree", "-r", "-z", "--no-renames", f"{onto}^{{tree}}", tree)
    after = {**unmerged, **dict(_compared(await git.run(*compared)))}
    files = {
        path: await git.run("cat-file", "blob", blob.oid, most_bytes=git.file_bytes)
        for path, blob in sorted(after.items())
        if blob.mode in _FILES
    }
    links = {path: os.fsdecode(files.pop(path)) for path in [*files] if after[path].mode == _LINK}
    executable = frozenset(path for path in files if after[path].mode == _EXECUTABLE)
    removed = frozenset(path for path, blob in after.items() if blob.mode == _REMOVED)
    submodules = frozenset(path for path, blob in after.items() if blob.mode == _SUBMODULE)
    return Merged(files, removed, conflicts, executable, links, submodules)


async def _merge(git: Git, start: str, onto: str, change: str) -> bytes:
    """The output of git's merge. A commit of each tree with the parent `start` makes `start` the
    merge base, like `--merge-base` from git 2.40 on."""
    without_author = replace(git, environment=identity(Signature("", "", 0)))
    for name, commit in ((NOW, onto), (CHANGE, change)):
        tree = f"{commit}^{{tree}}"
        output = await without_author.run("commit-tree", tree, "-p", start, "-m", name)
        await git.run("update-ref", f"refs/heads/{name}", output.decode().strip())
    return await git.run("merge-tree", "--write-tree", "-z", NOW, CHANGE, ends=(0, _CONFLICTS))


def _read(output: bytes) -> tuple[str, dict[str, _Blob], tuple[str, ...]]:
    """(the merged tree, the change's side of each file that conflicts on both sides, git's messages
    about conflicts)."""
    tree, *fields = map(os.fsdecode, output.split(b"\0")[:-1])
    end = fields.index("") if "" in fields else len(fields)
    sides: dict[str, dict[str, _Blob]] = {}
    for row in fields[:end]:
        entry, _, path = row.partition("\t")
        mode, oid, stage = entry.split()
        sides.setdefault(path, {})[stage] = _Blob(mode, oid)
    unmerged = {
        path: blobs[_THEIRS] for path, blobs in sides.items() if {_OURS, _THEIRS} <= {*blobs}
    }
    return tree, unmerged, tuple(_conflicts(iter(fields[end + 1 :])))


def _conflicts(fields: Iterator[str]) -> Iterator[str]:
    """The texts of conflicts. A message has the number of its paths, the paths, a kind and a
    text."""
    for number in fields:
        for _ in range(int(number)):
            next(fields)
        kind, text = next(fields), next(fields)
        if kind.startswith("CONFLICT"):
            yield printable(" ".join(text.split()))


def _compared(rows: bytes) -> Iterator[tuple[str, _Blob]]:
    """The blob after the merge for each path that differs. A row has modes, objects, a status."""
    fields = iter(rows.split(b"\0")[:-1])
    for row in fields:
        _, mode, _, oid, _ = row.decode().split()
        yield os.fsdecode(next(fields)), _Blob(mode, oid)


async def merge_texts(
    folders: RepositoryFolders,
    settings: RepositorySettings,
    base: bytes,
    first: bytes,
    second: bytes,
) -> bytes | None:
    """See `agents.ports.TextMerge`. Raises RepositoryUnavailable."""
    texts = {"first": first, "base": base, "second": second}
    if program() is None or any(
        b"\0" in text or len(text) > MOST_TEXT_BYTES for text in texts.values()
    ):
        return None
    async with folders.workshop() as (workshop, lock):
        for name, text in texts.items():
            await asyncio.to_thread((workshop / name).write_bytes, text)
        git = process(workshop / "none", settings, lock)  # git reads no repository for a text
        most = sum(map(len, texts.values()))
        arguments = ("merge-file", "-p", "--quiet", *(str(workshop / name) for name in texts))
        try:
            return await git.run(*arguments, most_bytes=most)
        except GitTooMuch:  # only conflict markers make a merge longer than its texts
            return None
        except GitFailed as error:
            if error.code in _CONFLICTING_TEXTS:
                return None
            raise
