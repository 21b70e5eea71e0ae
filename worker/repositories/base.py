"""CommitBase: the files of a commit that a job works on. It reads bytes from git's objects, never
from the layer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from worker.repositories import patches
from worker.repositories.folders import Lock, RepositoryFolders
from worker.repositories.git import Git
from worker.repositories.mirrors import Mirror, Origin
from worker.repositories.patches import PLAIN, CommitChange, Kinds, Patch, ignored
from worker.repositories.refs import is_ancestor
from worker.repositories.snapshots import TreeEntry
from worker.repositories.submodules import Submodules, read_modules


@dataclass(frozen=True, slots=True)
class CommitBase:
    """The files of a commit. Its layer stays on this machine until `release`, or until the object
    is dropped."""

    layer: str
    """The name of the layer, for a sandbox."""
    commit: str
    entries: Mapping[str, TreeEntry]
    """Entries by path, without directories."""
    links: Mapping[str, str]
    """The targets of symbolic links, by path."""
    pointers: frozenset[str]
    """The pointers of Git LFS, also in submodules, by path."""
    submodules: Submodules
    mirror: Mirror = field(repr=False)
    folders: RepositoryFolders = field(repr=False)
    use: Lock = field(repr=False)

    async def read(self, path: str) -> bytes | None:
        """The bytes of a file; None if the path is no regular file of the commit or of its
        submodules. Raises GitFailed."""
        if path in self.submodules.entries:
            return await self.submodules.read(path)
        return await patches.committed(self._change({}, frozenset(), PLAIN), path)

    async def declared_submodules(self, modules: bytes) -> Collection[str] | None:
        """The paths of submodules in the text of a `.gitmodules` file; None if git cannot read
        it."""
        return await read_modules(self.mirror.git(), modules)

    async def ignored(
        self, changed: Mapping[str, bytes], removed: frozenset[str], kinds: Kinds = PLAIN
    ) -> frozenset[str]:
        """The paths of new files and links of the job that git ignores. Raises
        RepositoryRefused."""
        return await ignored(self._change(changed, removed, kinds))

    async def patch(
        self, changed: Mapping[str, bytes], removed: frozenset[str], kinds: Kinds = PLAIN
    ) -> Patch:
        """The change of the job in git's format; equal inputs give equal bytes. `kinds` sets modes;
        other files keep their executable bit, and new programs get it. Paths below `.git` and below
        submodules are dropped. Raises RepositoryRefused."""
        return await patches.patch(self._change(changed, removed, kinds))

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
        """A git bundle with one commit on `branch`. A clone that fetches it must have the base
        commit. `author` is `Name <mail>`, `at` seconds since 1970 (UTC). Raises
        RepositoryRefused."""
        signed = patches.Signature(message, author, at)
        return await patches.bundle(self._change(changed, removed, kinds), branch, signed)

    @asynccontextmanager
    async def open_bundle(self, bundle: bytes) -> AsyncIterator[Git]:
        """Git on a scratch repository with the commit of a bundle from `bundle`. Raises
        RepositoryRefused."""
        async with patches.open_bundle(self.folders, bundle, self.mirror) as git:
            yield git

    async def follows(self, origin: Origin, head: str, commit: str) -> bool:
        """Whether `head`, a commit of the origin, is the commit or follows it. Raises
        RepositoryRefused."""
        await self.mirror.ensure(origin, head)
        return await is_ancestor(self.mirror.git(), commit, head)

    def release(self) -> None:
        """Release the layer and its mirror: they may be removed when their space is needed."""
        self.use.release()
        self.submodules.release()
        self.mirror.use.release()

    def _change(
        self, changed: Mapping[str, bytes], removed: frozenset[str], kinds: Kinds
    ) -> CommitChange:
        folders, mirror = self.folders, self.mirror
        return CommitChange(folders, mirror, self.commit, self.entries, changed, removed, kinds)
