"""Repositories: from a job's `repo` to a commit, and from a commit to its CommitBase."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from jobs.model.credentials import OPERATOR
from jobs.model.spec import Repo
from settings.repositories import RepositorySettings
from settings.worker import WorkerSettings
from worker.repositories import merges, mirrors, snapshots
from worker.repositories.base import CommitBase
from worker.repositories.errors import RepositoryRefused
from worker.repositories.folders import (
    LAYER,
    Lock,
    RepositoryFolders,
    remove_old_folders,
    use_folder,
)
from worker.repositories.hosts import RepositoryHosts
from worker.repositories.mirrors import Mirror, Origin
from worker.repositories.refs import BRANCHES, COMMIT
from worker.repositories.remote import RemoteOrigin
from worker.repositories.submodules import SubmoduleFinder, Submodules
from worker.repositories.upload import Upload, UploadOrigin


@dataclass(frozen=True, slots=True)
class Repositories:
    """The repositories of this machine. All of their files are below `folder`."""

    folder: Path
    settings: RepositorySettings
    hosts: RepositoryHosts = field(init=False)
    folders: RepositoryFolders = field(init=False)

    def __post_init__(self) -> None:
        """Create the folders, because a sandbox needs the folder of layers, and read the operator's
        credentials. Raises RepositoriesUnfit."""
        object.__setattr__(self, "hosts", RepositoryHosts.from_settings(self.settings))
        object.__setattr__(self, "folders", RepositoryFolders(self.folder.absolute()))
        _ = self.folders.layers

    @classmethod
    def from_settings(cls, settings: WorkerSettings) -> Repositories:
        """The repositories of a worker."""
        return cls(settings.repositories_dir, settings)

    @property
    def layers(self) -> Path:
        """The folder of layers, for the sandbox."""
        return self.folders.layers

    async def commit(self, repo: Repo, upload: Upload | None = None, tenant: str = OPERATOR) -> str:
        """Fetch the commit that the job's ref names now; return it in hexadecimal.

        `upload` loads the bundle of an uploaded repository. The credentials are the tenant's.
        Raises RepositoryRefused.
        """
        origin = self._origin(repo, upload, tenant)
        mirror = await mirrors.open_mirror(self.folders, origin, self.settings)
        try:
            resolved = await origin.resolve(mirror.git(), repo.ref)
            await mirror.ensure(origin, resolved.commit, resolved.tags)
            kind = await mirror.git().run("cat-file", "-t", resolved.commit)
        finally:
            mirror.use.release()
        if kind != b"commit\n":  # a tag can lead to any object
            raise RepositoryRefused(
                f"{repo.ref!r} leads to a {kind.decode().strip()} of git: name a branch, a commit, "
                "or a tag of a commit"
            )
        return resolved.commit

    async def base(
        self, repo: Repo, commit: str, upload: Upload | None = None, tenant: str = OPERATOR
    ) -> CommitBase:
        """The files of a commit. Makes its layer, if this machine lacks it. Raises
        RepositoryRefused."""
        if not COMMIT.fullmatch(commit):
            raise RepositoryRefused(f"{commit[:80]!r} is no commit: it has 40 hexadecimal digits")
        origin = self._origin(repo, upload, tenant)
        mirror = await self.open_mirror(repo, [commit], upload, tenant)
        try:
            entries = await snapshots.entries(mirror.git(), commit, self.settings)
            links = await snapshots.links(mirror.git(), entries)
            pointers = await snapshots.lfs_pointers(mirror.git(), entries)
            tags = await snapshots.tags(mirror.git(), commit)
            finder = SubmoduleFinder(self.folders, self.hosts, self.settings, tenant)
            submodules = await finder.find(mirror.git(), entries, repo.url)
            try:
                layer = _layer(origin, commit, tags, submodules)
                use = await self._check_out(mirror, commit, tags, submodules, layer)
            except BaseException:
                submodules.release()
                raise
            mirror.use.touch()  # after its layers, so that it is removed after them
        except BaseException:
            mirror.use.release()
            raise
        return CommitBase(
            layer,
            commit,
            entries,
            links,
            pointers | submodules.pointers,
            submodules,
            mirror,
            self.folders,
            use,
        )

    async def merge_texts(self, base: bytes, first: bytes, second: bytes) -> bytes | None:
        """See `agents.ports.TextMerge`. None also if this worker has no git, which only jobs on
        repositories need. Raises RepositoryUnavailable."""
        return await merges.merge_texts(self.folders, self.settings, base, first, second)

    async def find_branch(self, repo: Repo, branch: str, tenant: str = OPERATOR) -> str | None:
        """The present commit of a branch at the host; None if the host has no such branch. Raises
        RepositoryRefused."""
        origin, name = self._origin(repo, None, tenant), f"{BRANCHES}{branch}"
        assert isinstance(origin, RemoteOrigin)  # noqa: S101 - an upload has no host
        mirror = await mirrors.open_mirror(self.folders, origin, self.settings)
        try:
            return (await origin.list_refs(mirror.git(), (name,))).objects.get(name)
        finally:
            mirror.use.release()

    async def open_mirror(
        self,
        repo: Repo,
        commits: Collection[str],
        upload: Upload | None = None,
        tenant: str = OPERATOR,
    ) -> Mirror:
        """The repository's mirror, which has these commits. The caller releases `use`. Raises
        RepositoryRefused."""
        origin = self._origin(repo, upload, tenant)
        mirror = await mirrors.open_mirror(self.folders, origin, self.settings)
        try:
            for commit in commits:
                await mirror.ensure(origin, commit)
        except BaseException:
            mirror.use.release()
            raise
        return mirror

    async def _check_out(
        self, mirror: Mirror, commit: str, tags: bytes, submodules: Submodules, name: str
    ) -> Lock:
        """Make the layer, if it is missing; return the lock of its use."""
        layer = self.folders.layers / name
        while (use := use_folder(layer)) is None:
            async with mirror.writing() as writing:
                if not layer.exists():
                    use = await snapshots.check_out(
                        self.folders, mirror, writing, commit, tags, submodules.checked_out, name
                    )
            if use is not None:
                await asyncio.to_thread(
                    remove_old_folders, self.folders, self.settings.repo_cache_bytes
                )
                break
        return use

    def _origin(self, repo: Repo, upload: Upload | None, tenant: str) -> Origin:
        if repo.url is not None:
            return RemoteOrigin(self.hosts.site(repo.url, tenant), self.settings)
        if repo.bundle is None or upload is None:
            raise RepositoryRefused("a repository has a url, or comes as a git bundle")
        return UploadOrigin(repo.bundle, upload, self.settings)


def _layer(origin: Origin, commit: str, tags: bytes, submodules: Submodules) -> str:
    """The name of the layer. It depends on the repository, because the history of the same commit
    may differ in another repository, and on the tags, because `git describe` depends on them. It
    depends on the submodules that are checked out, because the operator can change the list of
    hosts, and a tenant's credentials count for them."""
    rows = [f"{sub.path}\0{sub.commit} {sub.origin}\0" for sub in submodules.checked_out]
    content = f"{origin.name} {commit}\n".encode() + tags + os.fsencode("".join(rows))
    return f"{LAYER}{hashlib.sha256(content).hexdigest()[:32]}"
