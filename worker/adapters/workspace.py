"""ManifestWorkspace: the job's files as a manifest over the blob store, and over the files of a
repository's commit where the job works on one.

What lies in `.git` belongs to git: no change of it is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from agents.errors import PathOutside
from agents.ports import Artifact
from agents.ports.repository import Patch
from agents.runs.installed import belongs_to_install
from agents.tree import Tree
from jobs.blobs.directory import Blobs, hashed
from jobs.blobs.manifest import FileEntry, Manifest, checked_path, load
from jobs.errors import PathRefused
from sandbox.media import media_type
from worker.adapters.base import Base, BaseFiles, nameable, of_git
from worker.repositories.setups.setup import Installed

KEPT_BYTES = 1024 * 1024
"""A longer file is read again for each run: a worker holds dozens of jobs, most of which wait for a
model, and each may have a hundred MiB of input."""


class ManifestWorkspace:
    """Implements the port Workspace. A path is a name in a manifest, never a path of this host."""

    def __init__(
        self, blobs: Blobs, manifest: Manifest, digest: str | None, base: BaseFiles | None = None
    ) -> None:
        self._blobs = blobs
        self._base = base
        self._kept: dict[str, bytes] = {}
        self._manifest = manifest
        self._digest = digest
        self._sizes: Mapping[str, int] | None = None
        self._installed: Installed | None = None

    @classmethod
    async def open(
        cls, blobs: Blobs, digest: str | None, earlier: str | None = None
    ) -> ManifestWorkspace:
        """The workspace of manifest `digest` over that of `earlier`; None is an empty one."""
        manifest = await load(blobs, digest)
        if earlier is None:
            return cls(blobs, manifest, digest)
        merged = (await load(blobs, earlier)).with_files(manifest.files, frozenset())
        return cls(blobs, merged, await blobs.put(merged.dump()))

    @classmethod
    async def over(cls, blobs: Blobs, digest: str | None, base: Base) -> ManifestWorkspace:
        """The workspace of manifest `digest` over a repository's commit."""
        manifest = await load(blobs, digest)
        if manifest.base is None:  # the files of the request
            files = {path: entry for path, entry in manifest.files.items() if not of_git(path)}
            manifest = Manifest(files, base=base.commit)
            digest = await blobs.put(manifest.dump())
        if manifest.base != base.commit:
            raise ValueError(f"the workspace is of commit {manifest.base}, not {base.commit}")
        return cls(blobs, manifest, digest, await asyncio.to_thread(BaseFiles, base))

    @property
    def base(self) -> BaseFiles | None:
        """The files of the repository; None without one."""
        return self._base

    @property
    def digest(self) -> str | None:
        """See agents.ports.Workspace."""
        return self._digest

    def digests(self) -> Sequence[str]:
        """The bytes that its files are made of."""
        return [entry.digest for entry in self._manifest.files.values()]

    def list(self) -> Mapping[str, int]:
        """See agents.ports.Workspace."""
        if self._sizes is None:
            own = {path: entry.size for path, entry in self._manifest.files.items()}
            below = self._base.sizes if self._base else {}
            removed = self._manifest.removed
            there = {path: size for path, size in below.items() if path not in removed}
            self._sizes = dict(sorted({**there, **own}.items()))
        return self._sizes

    async def read(self, path: str) -> bytes | None:
        """See agents.ports.Workspace."""
        name = _inside(path)
        entry = self._manifest.files.get(name)
        if entry is not None:
            return await self._bytes(entry)
        return None if name in self._manifest.removed else await self.original(name)

    async def original(self, path: str) -> bytes | None:
        """See agents.ports.Workspace."""
        if self._base is None or path not in self._base.sizes:
            return None
        return await self._base.base.read(path)

    def changed(self) -> Collection[str]:
        """See agents.ports.Workspace."""
        return self._manifest.files.keys() | self._manifest.removed

    async def tree(self) -> Tree:
        """See agents.ports.Workspace."""
        layers = (self._base.base.layer,) if self._base else ()
        installed = (self._installed.layer,) if self._installed else ()
        return Tree(await self._files(), layers, self._manifest.removed, installed)

    def install(self, installed: Installed) -> None:
        """Have programs find these dependencies, which are kept as long as the workspace."""
        self._installed = installed

    async def patch(self) -> Patch | None:
        """See agents.ports.Workspace."""
        if self._base is None:
            return None
        base = self._base.base
        return await base.patch(await self._own(base), self._manifest.removed)

    async def bundle(self, *, branch: str, message: str, author: str, at: int) -> bytes | None:
        """The same change as a git bundle, with one commit on `branch` by `author` (`Name <mail>`)
        at a time in seconds since 1970; None without a repository."""
        if self._base is None:
            return None
        base = self._base.base
        return await base.bundle(
            await self._own(base),
            self._manifest.removed,
            branch=branch,
            message=message,
            author=author,
            at=at,
        )

    async def apply(
        self, changed: Mapping[str, bytes], deleted: frozenset[str] = frozenset()
    ) -> Sequence[Artifact]:
        """See agents.ports.Workspace."""
        named = {_inside(path): content for path, content in changed.items()}
        if self._base is not None:
            named = {path: content for path, content in named.items() if not of_git(path)}
        entries = {
            path: FileEntry(await hashed(content), len(content)) for path, content in named.items()
        }
        # The blobs and the manifest that names them are written side by side: a digest is known
        # before its bytes are stored, and nobody reads the manifest before this returns.
        manifest = self._after(named, entries, deleted)
        writes = [self._blobs.put(content) for content in named.values()]
        digest, *_ = await asyncio.gather(self._blobs.put(manifest.dump()), *writes)
        self._set(manifest, digest)
        for path, content in named.items():
            self._keep(entries[path].digest, content)
        return [
            Artifact(path, entry.digest, entry.size, media_type(path, named[path]))
            for path, entry in entries.items()
        ]

    async def keep(self, content: bytes) -> str:
        """See agents.ports.Workspace."""
        return await self._blobs.put(content)

    async def kept(self, digest: str) -> bytes:
        """See agents.ports.Workspace."""
        return await self._blobs.get(digest)

    async def manifest(self, digest: str | None) -> Mapping[str, str]:
        """See agents.ports.Workspace."""
        manifest = await load(self._blobs, digest)
        return {path: entry.digest for path, entry in manifest.files.items()}

    def fork(self) -> ManifestWorkspace:
        """See agents.ports.Workspace."""
        other = ManifestWorkspace(self._blobs, self._manifest, self._digest, self._base)
        other._kept = self._kept  # bytes by digest are the same for all
        return other

    async def checkout(self, digest: str | None) -> None:
        """See agents.ports.Workspace."""
        if digest != self._digest:
            manifest = await load(self._blobs, digest)
            if self._base is not None and manifest.base is None:
                manifest = replace(manifest, base=self._base.base.commit)
                digest = await self._blobs.put(manifest.dump())
            self._set(manifest, digest)

    def _set(self, manifest: Manifest, digest: str | None) -> None:
        self._manifest, self._digest, self._sizes = manifest, digest, None

    def _after(
        self,
        named: Mapping[str, bytes],
        entries: Mapping[str, FileEntry],
        deleted: frozenset[str],
    ) -> Manifest:
        """The manifest with these changes. A file that is as the commit has it is no change."""
        if self._base is None:
            return self._manifest.with_files(entries, deleted)
        gone = frozenset(path for path in deleted if nameable(path))
        after = self._manifest.with_files(entries, gone, self._base.base.entries)
        same = {path for path, content in named.items() if self._base.has(path, content)}
        files = {path: entry for path, entry in after.files.items() if path not in same}
        return replace(after, files=files)

    async def _files(self) -> dict[str, bytes]:
        entries = self._manifest.files.items()
        return {path: await self._bytes(entry) for path, entry in entries}

    async def _own(self, base: Base) -> dict[str, bytes]:
        """What the job delivers of its files: no installed packages, nothing that git ignores."""
        files = await self._files()
        own = {path: data for path, data in files.items() if not belongs_to_install(path)}
        ignored = await base.ignored(own, self._manifest.removed)
        return {path: data for path, data in own.items() if path not in ignored}

    async def _bytes(self, entry: FileEntry) -> bytes:
        content = self._kept.get(entry.digest)
        if content is None:
            content = await self._blobs.get(entry.digest)
            self._keep(entry.digest, content)
        return content

    def _keep(self, digest: str, content: bytes) -> None:
        if len(content) <= KEPT_BYTES:
            self._kept[digest] = content


def _inside(path: str) -> str:
    try:
        return checked_path(path)
    except PathRefused as refused:
        raise PathOutside(str(refused)) from None
