"""Base: the files of a commit that a job works on. Bytes come from git's objects, never from the
layer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from worker.repositories import merges, patches
from worker.repositories.folders import Lock, Places
from worker.repositories.git import Git
from worker.repositories.merges import Merged
from worker.repositories.mirrors import Mirror
from worker.repositories.patches import PLAIN, Change, Kinds, Patch, ignored
from worker.repositories.snapshots import Entry


@dataclass(frozen=True, slots=True)
class Base:
    """`entries` by path, without directories, and the targets of the symbolic `links` among them.
    The layer stays on this machine until `release`, or until the Base is dropped."""

    layer: str
    commit: str
    entries: Mapping[str, Entry]
    links: Mapping[str, str]
    mirror: Mirror = field(repr=False)
    places: Places = field(repr=False)
    use: Lock = field(repr=False)

    async def read(self, path: str) -> bytes | None:
        """A file's bytes; None where the commit has no regular file there. Raises GitFailed."""
        return await patches.committed(self._change({}, frozenset(), PLAIN), path)

    async def ignored(
        self, changed: Mapping[str, bytes], removed: frozenset[str], kinds: Kinds = PLAIN
    ) -> frozenset[str]:
        """Which of the job's files and links are new, and ignored by git. Raises
        RepositoryRefused."""
        return await ignored(self._change(changed, removed, kinds))

    async def patch(
        self, changed: Mapping[str, bytes], removed: frozenset[str], kinds: Kinds = PLAIN
    ) -> Patch:
        """What the job changed, in git's format: the same input gives the same bytes. Unless
        `kinds` says more, files keep their executable bit, and new programs have it; names below
        `.git` and below submodules are dropped. Raises RepositoryRefused."""
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
        """A git bundle with one commit on `branch`, over the base commit, which a clone that
        fetches it has to have. `author` is `Name <mail>`, `at` seconds since 1970 (UTC).
        Raises RepositoryRefused."""
        signed = patches.Signature(message, author, at)
        return await patches.bundle(self._change(changed, removed, kinds), branch, signed)

    @asynccontextmanager
    async def unpacked(self, bundle: bytes) -> AsyncIterator[Git]:
        """Git on a repository of its own that has the commit of this bundle, which `bundle` has
        made. Raises RepositoryRefused."""
        async with patches.unpacked(self.places, self.mirror, bundle) as git:
            yield git

    async def merged(self, began: str, bundle: bytes) -> Merged:
        """The commit after the merge of the change in this bundle, which `bundle` has made over the
        commit `began`. The mirror has that commit, too. Raises RepositoryRefused."""
        async with self.unpacked(bundle) as git:
            return await merges.merged(git, began, self.commit, patches.tip(bundle))

    def release(self) -> None:
        """Let the layer and its mirror be removed when their place is needed."""
        self.use.release()
        self.mirror.use.release()

    def _change(
        self, changed: Mapping[str, bytes], removed: frozenset[str], kinds: Kinds
    ) -> Change:
        places, mirror = self.places, self.mirror
        return Change(places, mirror, self.commit, self.entries, changed, removed, kinds)
