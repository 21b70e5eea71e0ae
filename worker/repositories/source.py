"""Repositories: from a job's `repo` to a commit, and from a commit to its Base."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from jobs.model.credentials import OPERATOR
from jobs.model.spec import Repo
from settings.repositories import RepositorySettings
from settings.worker import WorkerSettings
from worker.repositories import mirrors, snapshots
from worker.repositories.base import Base
from worker.repositories.errors import RepositoryRefused
from worker.repositories.folders import LAYER, Lock, Places, collect, used
from worker.repositories.hosts import RepositoryHosts
from worker.repositories.mirrors import Mirror, Origin
from worker.repositories.refs import COMMIT
from worker.repositories.remote import RemoteOrigin
from worker.repositories.upload import Upload, UploadOrigin


@dataclass(frozen=True, slots=True)
class Repositories:
    """Everything of repositories that this machine has lies below `folder`."""

    folder: Path
    settings: RepositorySettings
    hosts: RepositoryHosts = field(init=False)
    places: Places = field(init=False)

    def __post_init__(self) -> None:
        """Make the folders, so that a sandbox can be given that of the layers; read the operator's
        credentials. Raises RepositoriesUnfit."""
        object.__setattr__(self, "hosts", RepositoryHosts.over(self.settings))
        object.__setattr__(self, "places", Places(self.folder.absolute()))
        _ = self.places.layers

    @classmethod
    def over(cls, settings: WorkerSettings) -> Repositories:
        """Those of a worker."""
        return cls(settings.repositories_dir, settings)

    @property
    def layers(self) -> Path:
        """The folder of layers, as the sandbox wants it."""
        return self.places.layers

    async def commit(self, repo: Repo, upload: Upload | None = None, tenant: str = OPERATOR) -> str:
        """The commit that the job's ref names now, in hexadecimal; this machine has it afterwards.

        `upload` loads the bundle, if the repository is one. The credentials are the tenant's.
        Raises RepositoryRefused.
        """
        origin = self._origin(repo, upload, tenant)
        mirror = await mirrors.opened(self.places, origin, self.settings)
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
    ) -> Base:
        """The files of a commit. Its layer is on this machine afterwards, and stays while the Base
        is held. Raises RepositoryRefused."""
        if not COMMIT.fullmatch(commit):
            raise RepositoryRefused(f"{commit[:80]!r} is no commit: it has 40 hexadecimal digits")
        origin = self._origin(repo, upload, tenant)
        mirror = await mirrors.opened(self.places, origin, self.settings)
        try:
            await mirror.ensure(origin, commit)
            entries = await snapshots.entries(mirror.git(), commit, self.settings)
            links = await snapshots.links(mirror.git(), entries)
            tags = await snapshots.tags(mirror.git(), commit)
            layer = _layer(origin, commit, tags)
            use = await self._checked_out(mirror, commit, tags, layer)
            mirror.use.touch()  # after its layers, so that it is removed after them
        except BaseException:
            mirror.use.release()
            raise
        return Base(layer, commit, entries, links, mirror, self.places, use)

    async def _checked_out(self, mirror: Mirror, commit: str, tags: bytes, name: str) -> Lock:
        """The layer, in use."""
        layer = self.places.layers / name
        while (use := used(layer)) is None:
            async with mirror.writing() as writing:
                if not layer.exists():
                    use = await snapshots.check_out(
                        self.places, mirror, writing, commit, tags, name
                    )
            if use is not None:
                await asyncio.to_thread(collect, self.places, self.settings.repo_cache_bytes)
                break
        return use

    def _origin(self, repo: Repo, upload: Upload | None, tenant: str) -> Origin:
        if repo.url is not None:
            return RemoteOrigin(self.hosts.site(repo.url, tenant), self.settings)
        if repo.bundle is None or upload is None:
            raise RepositoryRefused("a repository has a url, or comes as a git bundle")
        return UploadOrigin(repo.bundle, upload, self.settings)


def _layer(origin: Origin, commit: str, tags: bytes) -> str:
    """The name of a layer of this repository alone, because the history of another repository may
    differ for the same commit. With other tags, `git describe` gives another answer."""
    content = f"{origin.name} {commit}\n".encode() + tags
    return f"{LAYER}{hashlib.sha256(content).hexdigest()[:32]}"
