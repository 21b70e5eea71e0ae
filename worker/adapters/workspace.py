"""ManifestWorkspace: the job's files as a manifest over the blob store."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from agents.errors import PathOutside
from agents.ports import Artifact
from agents.ports.tree import Tree
from jobs.blobs.directory import Blobs, hashed
from jobs.blobs.manifest import FileEntry, Manifest, checked_path, load
from jobs.errors import PathRefused
from sandbox.media import media_type

KEPT_BYTES = 1024 * 1024
"""A longer file is read again for each run: a worker holds dozens of jobs, most of which wait for a
model, and each may have a hundred MiB of input."""


class ManifestWorkspace:
    """Implements the port Workspace. A path is a name in a manifest, never a path of this host."""

    def __init__(self, blobs: Blobs, manifest: Manifest, digest: str | None) -> None:
        self._blobs = blobs
        self._manifest = manifest
        self._digest = digest
        self._kept: dict[str, bytes] = {}

    @classmethod
    async def open(
        cls, blobs: Blobs, digest: str | None, base: str | None = None
    ) -> ManifestWorkspace:
        """The workspace of manifest `digest` over that of `base`; None is an empty one."""
        manifest = await load(blobs, digest)
        if base is None:
            return cls(blobs, manifest, digest)
        merged = (await load(blobs, base)).with_files(manifest.files, frozenset())
        return cls(blobs, merged, await blobs.put(merged.dump()))

    @property
    def digest(self) -> str | None:
        """See agents.ports.Workspace."""
        return self._digest

    def digests(self) -> Sequence[str]:
        """The bytes that its files are made of."""
        return [entry.digest for entry in self._manifest.files.values()]

    def list(self) -> Mapping[str, int]:
        """See agents.ports.Workspace."""
        return {path: entry.size for path, entry in sorted(self._manifest.files.items())}

    async def read(self, path: str) -> bytes | None:
        """See agents.ports.Workspace."""
        entry = self._manifest.files.get(_inside(path))
        return await self._bytes(entry) if entry else None

    def changed(self) -> Collection[str]:
        """See agents.ports.Workspace."""
        return self._manifest.files.keys()

    async def tree(self) -> Tree:
        """See agents.ports.Workspace."""
        entries = self._manifest.files.items()
        return Tree({path: await self._bytes(entry) for path, entry in entries})

    async def apply(
        self, changed: Mapping[str, bytes], deleted: frozenset[str] = frozenset()
    ) -> Sequence[Artifact]:
        """See agents.ports.Workspace."""
        named = {_inside(path): content for path, content in changed.items()}
        entries = {
            path: FileEntry(await hashed(content), len(content)) for path, content in named.items()
        }
        # The blobs and the manifest that names them are written side by side: a digest is known
        # before its bytes are stored, and nobody reads the manifest before this returns.
        manifest = self._manifest.with_files(entries, deleted)
        writes = [self._blobs.put(content) for content in named.values()]
        digest, *_ = await asyncio.gather(self._blobs.put(manifest.dump()), *writes)
        self._manifest, self._digest = manifest, digest
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
        other = ManifestWorkspace(self._blobs, self._manifest, self._digest)
        other._kept = self._kept  # bytes by digest are the same for all
        return other

    async def checkout(self, digest: str | None) -> None:
        """See agents.ports.Workspace."""
        if digest != self._digest:
            self._manifest, self._digest = await load(self._blobs, digest), digest

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
