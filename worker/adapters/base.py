"""BaseFiles: the files of a repository's commit. The job's files and links replace them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from agents.errors import ToolRefused
from agents.links import follow
from agents.ports.repository import Patch
from jobs.blobs.manifest import normalize_path
from jobs.errors import PathRefused
from sandbox.paths import is_git_internal, is_program
from worker.repositories.patches import PLAIN, Kinds
from worker.repositories.submodules import Submodules


class CommitEntry(Protocol):
    """An entry of the commit's tree: the size in bytes, and the id of git's object."""

    @property
    def size(self) -> int: ...

    @property
    def oid(self) -> str: ...

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        ...

    @property
    def is_executable(self) -> bool:
        """Whether it is a regular file that can be executed."""
        ...

    @property
    def is_submodule(self) -> bool:
        """Whether it is a commit of another repository."""
        ...


class CommitTree(Protocol):
    """A commit; `worker.repositories.base.CommitBase` implements it."""

    @property
    def layer(self) -> str:
        """The name of the layer, for a sandbox."""
        ...

    @property
    def commit(self) -> str: ...

    @property
    def entries(self) -> Mapping[str, CommitEntry]:
        """By path, without directories."""
        ...

    @property
    def links(self) -> Mapping[str, str]:
        """The symbolic links: targets by path."""
        ...

    @property
    def pointers(self) -> frozenset[str]:
        """The pointers of Git LFS, also in submodules, by path."""
        ...

    @property
    def submodules(self) -> Submodules: ...

    async def declared_submodules(self, modules: bytes) -> Collection[str] | None:
        """The paths of submodules in the text of a `.gitmodules` file; None if git cannot read
        it."""
        ...

    async def read(self, path: str) -> bytes | None:
        """A file's bytes; None if the path is no regular file."""
        ...

    async def ignored(
        self, changed: Mapping[str, bytes], removed: frozenset[str], kinds: Kinds = PLAIN
    ) -> frozenset[str]:
        """The paths of changed files and links that are new and that git ignores."""
        ...

    async def patch(
        self, changed: Mapping[str, bytes], removed: frozenset[str], kinds: Kinds = PLAIN
    ) -> Patch:
        """The change in git's format."""
        ...

    async def bundle(
        self,
        changed: Mapping[str, bytes],
        removed: frozenset[str],
        kinds: Kinds = PLAIN,
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
    """The entries of a base that a workspace can name, by path."""

    base: CommitTree
    sizes: Mapping[str, int] = field(init=False)
    """The sizes of the regular files of the commit, in bytes."""
    links: Mapping[str, str] = field(init=False)
    """The targets of symbolic links, also of links in checked-out submodules."""
    submodules: frozenset[str] = field(init=False)
    submodule_sizes: Mapping[str, int] = field(init=False)
    """The sizes of the regular files in checked-out submodules, in bytes."""

    def __post_init__(self) -> None:
        """Check each name once for all attempts of the job in this process."""
        entries = {path: entry for path, entry in self.base.entries.items() if nameable(path)}
        sizes = {path: entry.size for path, entry in entries.items() if entry.is_file}
        all_links = {**self.base.submodules.links, **self.base.links}
        links = {path: target for path, target in all_links.items() if nameable(path)}
        submodules = frozenset(path for path, entry in entries.items() if entry.is_submodule)
        inner = self.base.submodules.entries.items()
        inner_sizes = {path: entry.size for path, entry in inner if entry.is_file}
        inner_sizes = {path: size for path, size in inner_sizes.items() if nameable(path)}
        object.__setattr__(self, "submodule_sizes", inner_sizes)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "links", links)
        object.__setattr__(self, "submodules", submodules)

    def followed(self) -> Mapping[str, int]:
        """The sizes of all files that a run can open, by path. A link that leads to a file has the
        size of the file."""
        sizes = dict(self.sizes)
        for link in self.links:
            with suppress(ToolRefused):
                if (size := self.sizes.get(follow(link, self.links))) is not None:
                    sizes[link] = size
        return sizes

    async def read(self, path: str) -> bytes | None:
        """The bytes of a file; the path may lead through links. None if it leads to no file."""
        with suppress(ToolRefused):
            return await self.base.read(follow(path, self.links))
        return None

    def has_file(self, path: str, content: bytes) -> bool:
        """Whether the commit has a file with just this content."""
        entry = self.base.entries.get(path)
        if entry is None or not entry.is_file or entry.size != len(content):
            return False
        blob = b"blob %d\0%b" % (len(content), content)
        return hashlib.sha1(blob, usedforsecurity=False).hexdigest() == entry.oid


def special_mode(entry: CommitEntry | None, content: bytes, executable: bool | None) -> bool | None:
    """Whether a file with this content, in the place of the commit's `entry`, can be executed; None
    if `executable` is the default."""
    usual = entry.is_executable if entry is not None and entry.is_file else is_program(content)
    return None if executable == usual else executable


def nameable(path: str) -> bool:
    """Whether a workspace can name the path; paths in `.git` belong to git."""
    try:
        return normalize_path(path) == path and not is_git_internal(path)
    except PathRefused:
        return False
