"""ManifestWorkspace: the job's files as a manifest over the blob store. If the job works on a
repository, the manifest has the changes over the files of a commit.

Files in `.git` belong to git: the workspace keeps no change of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from agents.errors import PathOutside, ToolRefused
from agents.links import follow, leaves_repository, prefixes, submodule_of
from agents.paths import is_in_setup
from agents.ports import Artifact, Version
from agents.ports.repository import Patch
from agents.tree import Tree
from jobs.blobs.directory import Blobs, compute_digest
from jobs.blobs.manifest import FileEntry, Manifest, load, normalize_path
from jobs.errors import PathRefused
from sandbox.paths import is_git_internal
from worker.adapters.base import BaseFiles, CommitTree, nameable, special_mode
from worker.repositories.patches import Kinds
from worker.repositories.setups.setup import Installed
from worker.repositories.submodules import MODULES

KEPT_BYTES = 1024 * 1024
"""Longer files are read again for each run: a worker has dozens of jobs, and each may have a
hundred MiB of input."""

_Kind = TypeVar("_Kind")


class ManifestWorkspace:
    """Implements the port Workspace. A path is a name in a manifest, never a path of this host."""

    def __init__(
        self, blobs: Blobs, manifest: Manifest, digest: str | None, base: BaseFiles | None = None
    ) -> None:
        self._blobs = blobs
        self._base = base
        self._contents: dict[str, bytes] = {}
        self._manifest = manifest
        self._digest = digest
        self._sizes: Mapping[str, int] | None = None
        self._installed: Installed | None = None
        self._submodules = base.submodules if base else frozenset[str]()

    @classmethod
    async def open(
        cls, blobs: Blobs, digest: str | None, earlier: str | None = None
    ) -> ManifestWorkspace:
        """The workspace of the manifest `digest` over the manifest `earlier`. A digest of None
        means an empty manifest."""
        manifest = await load(blobs, digest)
        if earlier is None:
            return cls(blobs, manifest, digest)
        merged = (await load(blobs, earlier)).with_files(manifest.files, frozenset())
        return cls(blobs, merged, await blobs.put(merged.dump()))

    @classmethod
    async def on_commit(
        cls, blobs: Blobs, digest: str | None, base: CommitTree
    ) -> ManifestWorkspace:
        """The workspace of manifest `digest` over a repository's commit."""
        manifest = await load(blobs, digest)
        if manifest.base is None:  # the files of the request
            manifest = replace(manifest, files=request_files(manifest, base), base=base.commit)
            digest = await blobs.put(manifest.dump())
        if manifest.base != base.commit:
            raise ValueError(f"the workspace is of commit {manifest.base}, not {base.commit}")
        workspace = cls(blobs, manifest, digest, await asyncio.to_thread(BaseFiles, base))
        await workspace._set(manifest, digest)
        return workspace

    @property
    def base(self) -> BaseFiles | None:
        """The files of the repository; None if the job has no repository."""
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
            job_sizes = {path: entry.size for path, entry in self._manifest.files.items()}
            base_sizes = self._untouched(self._base.sizes) if self._base else {}
            self._sizes = dict(sorted({**base_sizes, **job_sizes}.items()))
        return self._sizes

    def links(self) -> Mapping[str, str]:
        """See agents.ports.Workspace."""
        base_links = self._untouched(self._base.links) if self._base else {}
        return {**base_links, **self._manifest.links}

    def submodules(self) -> Collection[str]:
        """See agents.ports.Workspace."""
        return self._submodules

    def submodule_files(self) -> Mapping[str, int]:
        """See agents.ports.Workspace."""
        return self._untouched(self._base.submodule_sizes) if self._base else {}

    def lfs_pointers(self) -> Collection[str]:
        """See agents.ports.Workspace."""
        return self._base.base.pointers if self._base else frozenset()

    def leaving_links(self, links: Mapping[str, str], replaced: Collection[str]) -> Collection[str]:
        """See agents.ports.Workspace. The links of the commit may lead anywhere."""
        if self._base is None:
            return ()
        present = {path: to for path, to in self.links().items() if path not in replaced}
        after = {**present, **links}
        job_links = {path for path, to in after.items() if self._base.links.get(path) != to}
        submodules = self.submodules()
        return {path for path in job_links if leaves_repository(path, after, submodules)}

    async def read(self, path: str) -> bytes | None:
        """See agents.ports.Workspace."""
        name = _inside(path)
        entry = self._manifest.files.get(name)
        if entry is not None:
            return await self._bytes(entry)
        if name in self._removed or name in self._manifest.links:
            return None
        if self._base is not None and name in self._base.submodule_sizes:
            return await self._base.base.read(name) if submodule_of(self, name) else None
        return await self.original(name)

    async def original(self, path: str) -> bytes | None:
        """See agents.ports.Workspace."""
        if self._base is None or path not in self._base.sizes:
            return None
        return await self._base.base.read(path)

    def changed(self) -> Collection[str]:
        """See agents.ports.Workspace."""
        manifest = self._manifest
        return manifest.files.keys() | manifest.links.keys() | manifest.removed

    async def ignored(self, files: Mapping[str, bytes]) -> frozenset[str]:
        """See agents.ports.Workspace."""
        if self._base is None:
            return frozenset()
        all_files = {**await self._files(), **files}
        return await self._base.base.ignored(all_files, self._removed)

    async def tree(self) -> Tree:
        """See agents.ports.Workspace."""
        layers = (self._base.base.layer,) if self._base else ()
        installed = (self._installed.layer,) if self._installed else ()
        return Tree(
            await self._files(),
            layers,
            self._removed,
            installed,
            self._executable(),
            self._manifest.links,
        )

    def install(self, installed: Installed) -> None:
        """Add the dependencies to the tree of runs. Their layer stays as long as the workspace."""
        self._installed = installed

    async def patch(self) -> Patch | None:
        """See agents.ports.Workspace."""
        if self._base is None:
            return None
        base = self._base.base
        files, kinds = await self._delivered(base)
        return await base.patch(files, self._removed, kinds)

    async def delivered_paths(self) -> Collection[str]:
        """The paths that `patch` changes; empty without a repository."""
        if self._base is None:
            return ()
        files, kinds = await self._delivered(self._base.base)
        return files.keys() | kinds.links.keys() | self._removed

    async def bundle(self, *, branch: str, message: str, author: str, at: int) -> bytes | None:
        """The change of `patch` as a git bundle, with one commit on `branch` by `author` (`Name
        <mail>`) at a time in seconds since 1970; None without a repository."""
        if self._base is None:
            return None
        base = self._base.base
        files, kinds = await self._delivered(base)
        return await base.bundle(
            files,
            self._removed,
            kinds,
            branch=branch,
            message=message,
            author=author,
            at=at,
        )

    async def apply(
        self,
        changed: Mapping[str, bytes],
        deleted: frozenset[str] = frozenset(),
        *,
        executable: Mapping[str, bool | None] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> Sequence[Artifact]:
        """See agents.ports.Workspace."""
        contents = {_inside(path): content for path, content in changed.items()}
        links = {_inside(path): target for path, target in (links or {}).items()}
        deleted |= self._emptied_submodules(deleted)
        if self._base is not None:
            contents = {path: data for path, data in contents.items() if not is_git_internal(path)}
            links = {path: target for path, target in links.items() if not is_git_internal(path)}
        entries = {
            path: FileEntry(
                await compute_digest(content),
                len(content),
                self._mode(path, content, executable or {}),
            )
            for path, content in contents.items()
        }
        # The blobs and the manifest that names them are written at the same time: a digest needs no
        # stored bytes, and no process reads the manifest before this method returns.
        manifest = self._after(contents, entries, deleted, links)
        digest, *_ = await self._blobs.put_all([manifest.dump(), *contents.values()])
        await self._set(manifest, digest)
        for path, content in contents.items():
            self._keep(entries[path].digest, content)
        return [Artifact.of(path, entry.digest, contents[path]) for path, entry in entries.items()]

    async def keep(self, content: bytes) -> str:
        """See agents.ports.Workspace."""
        return await self._blobs.put(content)

    async def stored(self, digest: str) -> bytes:
        """See agents.ports.Workspace."""
        return await self._blobs.get(digest)

    async def manifest(self, digest: str | None) -> Mapping[str, Version]:
        """See agents.ports.Workspace."""
        manifest = await load(self._blobs, digest)
        files = {
            path: Version(entry.digest, entry.executable) for path, entry in manifest.files.items()
        }
        links = {path: Version("", target=target) for path, target in manifest.links.items()}
        return {**files, **links}

    async def version(self, path: str) -> Version | None:
        """See agents.ports.Workspace."""
        manifest, base = self._manifest, self._base
        if (entry := manifest.files.get(path)) is not None:
            return Version(entry.digest, entry.executable)
        target = manifest.links.get(path)
        if target is None and base is not None and path not in manifest.removed:
            target = base.links.get(path)
        if target is not None:
            return Version("", target=target)
        if base is not None and path in base.submodules & self._submodules:
            return Version("")
        content = await self.read(path)
        return None if content is None else Version(await self._blobs.put(content))

    def fork(self) -> ManifestWorkspace:
        """See agents.ports.Workspace."""
        copy = ManifestWorkspace(self._blobs, self._manifest, self._digest, self._base)
        copy._submodules = self._submodules
        copy._contents = self._contents  # all workspaces can share bytes by digest
        copy._installed = self._installed
        return copy

    async def checkout(self, digest: str | None) -> None:
        """See agents.ports.Workspace."""
        if digest != self._digest:
            manifest = await load(self._blobs, digest)
            if self._base is not None and manifest.base is None:
                manifest = replace(manifest, base=self._base.base.commit)
                digest = await self._blobs.put(manifest.dump())
            await self._set(manifest, digest)

    async def _set(self, manifest: Manifest, digest: str | None) -> None:
        self._submodules = await self._find_submodules(manifest)
        self._manifest, self._digest, self._sizes = manifest, digest, None

    async def _find_submodules(self, manifest: Manifest) -> frozenset[str]:
        """The paths of other repositories. A submodule of the commit is removed if a run removes
        its directory and `.gitmodules` does not declare it any more, as after `git rm`: runs often
        remove directories that are empty or that they can make again. A path that the job declares
        is a submodule from then on, if the commit has no files there."""
        if self._base is None:
            return frozenset()
        base, entry = self._base, manifest.files.get(MODULES)
        if entry is None and MODULES not in manifest.removed:
            return base.submodules
        before = await base.base.declared_submodules(await base.base.read(MODULES) or b"")
        after = await base.base.declared_submodules(await self._bytes(entry) if entry else b"")
        if before is None or after is None:
            return base.submodules
        removed = base.submodules.intersection(manifest.removed, before).difference(after)
        declared = set(after).difference(before)
        if declared:
            declared -= {name for path in base.base.entries for name in prefixes(path)}
        return frozenset((base.submodules - removed) | declared)

    def _emptied_submodules(self, deleted: frozenset[str]) -> frozenset[str]:
        """The checked-out submodules that lose all their files, and so their directories."""
        inner = (
            (*self._base.submodule_sizes, *self._base.base.submodules.links) if self._base else ()
        )
        if self._base is None or deleted.isdisjoint(inner):
            return frozenset()
        left = {name for path in inner if path not in deleted for name in prefixes(path)}
        emptied = {name for path in inner if path in deleted for name in prefixes(path)} - left
        return self._base.submodules & emptied

    @property
    def _removed(self) -> frozenset[str]:
        """The removed paths of the commit. A submodule may stay without its directory."""
        return self._manifest.removed - self._submodules

    def _after(
        self,
        contents: Mapping[str, bytes],
        entries: Mapping[str, FileEntry],
        deleted: frozenset[str],
        links: Mapping[str, str],
    ) -> Manifest:
        """The manifest with these changes. An entry that equals the commit's entry is no change."""
        if self._base is None:
            return self._manifest.with_files(entries, deleted, links=links)
        base = self._base
        removed = frozenset(path for path in deleted if nameable(path))
        after = self._manifest.with_files(entries, removed, base.base.entries, links)
        same = {
            path
            for path, content in contents.items()
            if entries[path].executable is None and base.has_file(path, content)
        }
        files = {path: entry for path, entry in after.files.items() if path not in same}
        new_links = {
            path: target for path, target in after.links.items() if base.links.get(path) != target
        }
        return replace(after, files=files, links=new_links)

    def _mode(
        self, path: str, content: bytes, executable: Mapping[str, bool | None]
    ) -> bool | None:
        """Whether a new version of a file can be executed: as `executable` says, or else as the old
        version; None if that is the default."""
        old = self._manifest.files.get(path)
        mode = executable.get(path, old.executable if old else None)
        entry = self._base.base.entries.get(path) if self._base else None
        return special_mode(entry, content, mode)

    def _executable(self) -> dict[str, bool]:
        entries = self._manifest.files.items()
        return {path: entry.executable for path, entry in entries if entry.executable is not None}

    def _untouched(self, entries: Mapping[str, _Kind]) -> dict[str, _Kind]:
        """The entries of the base that the job has neither removed nor replaced."""
        touched = self.changed()
        removed = self._base.submodules - self._submodules if self._base else frozenset()
        return {
            path: entry
            for path, entry in entries.items()
            if path not in touched and (not removed or removed.isdisjoint(prefixes(path)))
        }

    async def _files(self) -> dict[str, bytes]:
        entries = self._manifest.files.items()
        return {path: await self._bytes(entry) for path, entry in entries}

    async def _delivered(self, base: CommitTree) -> tuple[dict[str, bytes], Kinds]:
        """The job's files without installed dependencies, files that git ignores, and the content
        of LFS pointers."""
        files, removed = await self._files(), self._removed
        files = {path: data for path, data in files.items() if not self._is_foreign(path, data)}
        kinds = Kinds(self._executable(), self._manifest.links)
        ignored = await base.ignored(files, removed, kinds)
        ignored |= {*self.leaving_links({}, ())}
        links = {
            path: target
            for path, target in kinds.links.items()
            if path not in ignored and not submodule_of(self, path)
        }
        files = {path: data for path, data in files.items() if path not in ignored}
        return files, replace(kinds, links=links)

    def _is_foreign(self, path: str, content: bytes) -> bool:
        """Whether the file is an installed dependency, or of a submodule, or the content of an LFS
        pointer, such as a file of the request."""
        if submodule_of(self, path):
            return True
        if self._base is None or path not in self._base.base.pointers:
            return is_in_setup(path)
        return not self._base.has_file(path, content)

    async def _bytes(self, entry: FileEntry) -> bytes:
        content = self._contents.get(entry.digest)
        if content is None:
            content = await self._blobs.get(entry.digest)
            self._keep(entry.digest, content)
        return content

    def _keep(self, digest: str, content: bytes) -> None:
        if len(content) <= KEPT_BYTES:
            self._contents[digest] = content


def request_files(manifest: Manifest, base: CommitTree) -> dict[str, FileEntry]:
    """The files of a request, by the paths that they have over the commit."""
    files = manifest.files.items()
    return {_placed(path, base): entry for path, entry in files if not is_git_internal(path)}


def _placed(path: str, base: CommitTree) -> str:
    """The path that a file of the request has after the links of the commit are followed."""
    with suppress(ToolRefused):
        return follow(path, base.links)
    return path


def _inside(path: str) -> str:
    try:
        return normalize_path(path)
    except PathRefused as refused:
        raise PathOutside(str(refused)) from None
