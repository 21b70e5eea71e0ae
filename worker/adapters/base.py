"""Base: the files of a repository's commit, over which a job's own files lie."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from agents.ports.repository import Patch
from jobs.blobs.manifest import checked_path
from jobs.errors import PathRefused


class Entry(Protocol):
    """A name in the commit's tree: the size in bytes, and the id of git's object."""

    @property
    def size(self) -> int: ...

    @property
    def oid(self) -> str: ...

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        ...


class Base(Protocol):
    """What `worker.repositories` has of a commit."""

    @property
    def layer(self) -> str:
        """The layer's name, as a sandbox knows it."""
        ...

    @property
    def commit(self) -> str: ...

    @property
    def entries(self) -> Mapping[str, Entry]:
        """By path, without directories."""
        ...

    async def read(self, path: str) -> bytes | None:
        """A file's bytes; None where there is no regular file."""
        ...

    async def ignored(
        self, changed: Mapping[str, bytes], removed: frozenset[str]
    ) -> frozenset[str]:
        """Which of the changed files are new, and ignored by git."""
        ...

    async def patch(self, changed: Mapping[str, bytes], removed: frozenset[str]) -> Patch:
        """The change in git's format."""
        ...

    async def bundle(
        self,
        changed: Mapping[str, bytes],
        removed: frozenset[str],
        *,
        branch: str,
        message: str,
        author: str,
        at: int,
    ) -> bytes:
        """A git bundle with the change as one commit."""
        ...


@dataclass(frozen=True, slots=True)
class BaseFiles:
    """The regular files of a base that a workspace can name: sizes by path."""

    base: Base
    sizes: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Look at each name once for all attempts of the job in this process."""
        entries = self.base.entries.items()
        sizes = {path: each.size for path, each in entries if each.is_file and nameable(path)}
        object.__setattr__(self, "sizes", sizes)

    def has(self, path: str, content: bytes) -> bool:
        """Whether the commit has a file with just this content."""
        entry = self.base.entries.get(path)
        if entry is None or not entry.is_file or entry.size != len(content):
            return False
        blob = b"blob %d\0%b" % (len(content), content)
        return hashlib.sha1(blob, usedforsecurity=False).hexdigest() == entry.oid


def nameable(path: str) -> bool:
    """Whether a workspace can name the path; one below `.git` is git's own."""
    try:
        return checked_path(path) == path and not of_git(path)
    except PathRefused:
        return False


def of_git(path: str) -> bool:
    """Whether git takes the path for its own, which no commit can have."""
    return any(part.lower() == ".git" for part in path.split("/"))
